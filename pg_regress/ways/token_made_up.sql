-- way: a token that was made up: higher than any issued
-- PostgreSQL: knows nothing of tokens
-- fencing: refused, LF004; where anything higher passes, one guess shuts everybody else out
-- area: tokens
-- without: other_lease
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
INSERT INTO named SELECT 'made up', max(token) + 1 FROM named;
SELECT stale($$UPDATE doc SET body = 'stale'$$, 'made up');
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT * FROM doc;
