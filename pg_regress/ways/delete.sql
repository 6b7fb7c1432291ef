-- way: DELETE
-- PostgreSQL: fires the BEFORE DELETE triggers of the statement and of each row
-- fencing: refused, LF001
-- area: statements
-- without: row+statement
CREATE TABLE doc (id int PRIMARY KEY, body text);
INSERT INTO doc VALUES (1, 'before'), (2, 'before');
CALL guard('doc');
CALL takeover();
SELECT rightful('DELETE FROM doc WHERE id = 1');
SELECT stale('DELETE FROM doc WHERE id = 2');
SELECT * FROM doc;
