-- way: INSERT, UPDATE, DELETE through an automatically updatable view
-- PostgreSQL: rewrites the statement to the table below; its triggers fire
-- fencing: refused, LF001
-- area: detours
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE VIEW shown AS SELECT * FROM doc WHERE id < 10;
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE shown SET body = 'rightful'$$);
SELECT stale($$UPDATE shown SET body = 'stale'$$);
SELECT stale($$INSERT INTO shown VALUES (2, 'stale')$$);
SELECT stale('DELETE FROM shown');
SELECT * FROM doc;
