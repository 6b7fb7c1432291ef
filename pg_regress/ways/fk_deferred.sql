-- way: DELETE of an unguarded parent, ON DELETE CASCADE through a foreign key that is deferred to the commit
-- PostgreSQL: defers the check alone; CASCADE acts within the statement, and fires the child's triggers
-- fencing: refused, LF001
-- area: foreign keys
-- without: row
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE item (owner text, parent int REFERENCES parent ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
INSERT INTO parent VALUES (1), (2);
INSERT INTO item VALUES ('a', 1), ('a', 2);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
BEGIN;
SELECT present('new');
DELETE FROM parent WHERE id = 1;
COMMIT;
\echo rightful: :SQLSTATE
BEGIN;
SELECT present('old');
SET CONSTRAINTS ALL DEFERRED;
DELETE FROM parent WHERE id = 2;
\echo stale: :SQLSTATE
COMMIT;
SELECT * FROM item;
