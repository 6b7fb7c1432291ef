-- way: a function that a column's default, or a query, calls in passing
-- PostgreSQL: runs it inside the statement; triggers fire
-- fencing: refused, LF001
-- area: detours
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE FUNCTION change(body text) RETURNS int LANGUAGE plpgsql AS 'BEGIN UPDATE doc SET body = $1; RETURN 1; END';
CREATE TABLE request (body text DEFAULT 'nothing', n int DEFAULT change('by a default'));
CALL guard('doc');
CALL takeover();
SELECT rightful('INSERT INTO request DEFAULT VALUES');
SELECT stale('INSERT INTO request DEFAULT VALUES');
SELECT stale($$SELECT * FROM request WHERE n = change('stale')$$);
SELECT * FROM doc;
