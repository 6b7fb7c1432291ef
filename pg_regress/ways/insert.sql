-- way: INSERT
-- PostgreSQL: fires the BEFORE INSERT triggers of the statement and of each row
-- fencing: refused, LF001
-- area: statements
-- without: row+statement
CREATE TABLE doc (id int PRIMARY KEY, body text);
CALL guard('doc');
CALL takeover();
SELECT rightful($$INSERT INTO doc VALUES (1, 'rightful')$$);
SELECT stale($$INSERT INTO doc VALUES (2, 'stale')$$);
SELECT * FROM doc;
