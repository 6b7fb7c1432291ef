-- way: DELETE of an unguarded parent, ON DELETE SET DEFAULT in the guarded table
-- PostgreSQL: updates the child's rows by a query of its own; fires the child's triggers
-- fencing: refused, LF001
-- area: foreign keys
-- without: row
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE item (owner text, parent int DEFAULT 0 REFERENCES parent ON DELETE SET DEFAULT);
INSERT INTO parent VALUES (0), (1), (2);
INSERT INTO item VALUES ('a', 1), ('a', 2);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful('DELETE FROM parent WHERE id = 1');
SELECT stale('DELETE FROM parent WHERE id = 2');
SELECT * FROM item ORDER BY parent;
