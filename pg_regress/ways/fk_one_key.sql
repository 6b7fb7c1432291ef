-- way: DELETE of a parent that cascades into a table guarded with one lease, by someone without a token
-- PostgreSQL: fires the child's triggers of the statement and of each row
-- fencing: refused, LF002, as soon as one row of the child would go
-- area: foreign keys
-- without: row
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE doc (parent int REFERENCES parent ON DELETE CASCADE);
INSERT INTO parent VALUES (1), (2);
INSERT INTO doc VALUES (1), (2);
CALL guard('doc');
CALL takeover();
SELECT rightful('DELETE FROM parent WHERE id = 1');
SELECT stale('DELETE FROM parent WHERE id = 2', NULL);
SELECT * FROM doc;
