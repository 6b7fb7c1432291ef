-- way: a SECURITY DEFINER function that its owner may write with
-- PostgreSQL: runs it with the rights of its owner; triggers fire
-- fencing: refused, LF001: the token decides, not the role
-- area: detours
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE FUNCTION change(body text) RETURNS void LANGUAGE sql SECURITY DEFINER AS 'UPDATE doc SET body = $1';
CALL guard('doc');
CALL takeover();
SELECT rightful($$SELECT change('rightful')$$);
SELECT stale($$SELECT change('stale')$$);
SELECT * FROM doc;
