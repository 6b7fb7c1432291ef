-- way: the token of another lease that one rightfully holds
-- PostgreSQL: knows nothing of leases
-- fencing: refused, LF004
-- area: tokens
-- without: other_lease
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT stale($$UPDATE doc SET body = 'stale'$$, 'other');
SELECT * FROM doc;
