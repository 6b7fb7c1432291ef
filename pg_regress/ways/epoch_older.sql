-- way: a token of an earlier epoch, of a lease that nobody has acquired in the new one
-- PostgreSQL: knows no epochs
-- fencing: refused, LF005: the next epoch makes every older term void at once
-- area: tokens
-- without: epoch
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
SELECT take('old', 'a');
SELECT fencing.advance_epoch('promotion') > 0;
SELECT stale($$UPDATE doc SET body = 'stale'$$);
SELECT take('new', 'a');
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT stale($$UPDATE doc SET body = 'stale'$$);
SELECT * FROM doc;
