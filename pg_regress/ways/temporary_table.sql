-- way: a temporary table of the same name, which hides the guarded one
-- PostgreSQL: finds pg_temp first
-- fencing: it is seen by its own session alone, and the guarded table is not changed; its name with the schema is refused, LF001
-- area: DDL
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
CREATE TEMPORARY TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'stale');
SELECT stale($$UPDATE public.doc SET body = 'stale'$$);
SELECT * FROM public.doc;
