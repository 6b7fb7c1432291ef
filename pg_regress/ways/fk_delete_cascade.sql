-- way: DELETE of an unguarded parent, ON DELETE CASCADE into the guarded table
-- PostgreSQL: deletes the child's rows by a query of its own, as the child's owner; fires the child's triggers
-- fencing: refused, LF001
-- area: foreign keys
-- without: row
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE item (owner text, parent int REFERENCES parent ON DELETE CASCADE, body text);
INSERT INTO parent VALUES (1), (2);
INSERT INTO item VALUES ('a', 1, 'before'), ('a', 2, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful('DELETE FROM parent WHERE id = 1');
SELECT stale('DELETE FROM parent WHERE id = 2');
SELECT stale('DELETE FROM parent WHERE id = 2', NULL);
SELECT * FROM item;
