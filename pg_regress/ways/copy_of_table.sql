-- way: a write to a copy of the guarded table (LIKE INCLUDING ALL, CREATE TABLE AS)
-- PostgreSQL: copies no triggers
-- fencing: the copy is free, and the guarded table is not changed; what is brought back from it is refused, LF001
-- area: DDL
-- without: row+statement
CREATE TABLE doc (id int PRIMARY KEY, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
CREATE TABLE copied (LIKE doc INCLUDING ALL);
INSERT INTO copied VALUES (1, 'stale');
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT stale('UPDATE doc SET body = copied.body FROM copied WHERE doc.id = copied.id');
SELECT * FROM doc;
