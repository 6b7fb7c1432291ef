-- way: fencing.maintain(reason), by which a superuser's transaction writes past every guard
-- PostgreSQL: knows nothing of it
-- fencing: refused, 42501, to anybody else, also within a superuser's SECURITY DEFINER function; each use is recorded
-- area: tokens
-- without: superuser
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE ROLE regress_way_maintainer;
GRANT ALL ON doc TO regress_way_maintainer;
CREATE FUNCTION lend() RETURNS void LANGUAGE sql SECURITY DEFINER AS $$SELECT fencing.maintain('lent')$$;
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SET ROLE regress_way_maintainer;
BEGIN;
SELECT stale($$SELECT fencing.maintain('mine')$$, NULL);
SELECT stale('SELECT lend()', NULL);
SELECT stale($$UPDATE doc SET body = 'stale'$$, NULL);
COMMIT;
RESET ROLE;
SELECT * FROM doc;
DROP OWNED BY regress_way_maintainer;
DROP ROLE regress_way_maintainer;
