-- way: UPDATE
-- PostgreSQL: fires the BEFORE UPDATE triggers of the statement and of each row
-- fencing: refused, LF001
-- area: statements
-- without: row+statement
CREATE TABLE doc (id int PRIMARY KEY, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT stale($$UPDATE doc SET body = 'stale'$$);
SELECT * FROM doc;
