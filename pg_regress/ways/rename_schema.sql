-- way: a write to the guarded table in a renamed or another schema
-- PostgreSQL: keeps a table's triggers
-- fencing: refused, LF001
-- area: DDL
-- without: row+statement
CREATE SCHEMA one;
CREATE TABLE one.doc (id int, body text);
INSERT INTO one.doc VALUES (1, 'before');
CALL guard('one.doc');
CALL takeover();
ALTER SCHEMA one RENAME TO two;
SELECT rightful($$UPDATE two.doc SET body = 'rightful'$$);
SELECT stale($$UPDATE two.doc SET body = 'stale'$$);
ALTER TABLE two.doc SET SCHEMA public;
SELECT stale($$UPDATE doc SET body = 'stale'$$);
SELECT * FROM doc;
