-- way: a write to the guarded table under a new name
-- PostgreSQL: keeps a table's triggers when it is renamed
-- fencing: refused, LF001
-- area: DDL
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
ALTER TABLE doc RENAME TO document;
SELECT rightful($$UPDATE document SET body = 'rightful'$$);
SELECT stale($$UPDATE document SET body = 'stale'$$);
SELECT * FROM document;
