-- Whose token it is: the session's role must be the one that acquired the term, or a member of it.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int, body text);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
CREATE ROLE regress_guard_anna;
CREATE ROLE regress_guard_bert;
CREATE ROLE regress_guard_carl IN ROLE regress_guard_anna;
GRANT ALL ON doc TO regress_guard_anna, regress_guard_bert, regress_guard_carl;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_guard_anna', 'hold')$$);
SET ROLE regress_guard_anna;
SELECT take('anna');

BEGIN;
SELECT present('anna');
SELECT try($$INSERT INTO doc VALUES (1, 'anna')$$);
-- Another role under the same presentation: what was verified was verified for anna.
SET LOCAL ROLE regress_guard_bert;
SELECT try($$INSERT INTO doc VALUES (2, 'bert')$$, hints => true);
SELECT try($$SELECT fencing.assert_current({anna})$$);
-- A member of the holding role counts as the role.
SET LOCAL ROLE regress_guard_carl;
SELECT try($$INSERT INTO doc VALUES (3, 'carl')$$);
COMMIT;
-- So does a superuser.
RESET ROLE;
BEGIN;
SELECT present('anna');
SELECT try($$INSERT INTO doc VALUES (4, 'superuser')$$);
COMMIT;

-- A definer's function writes under the session's role, not the definer's.
CREATE FUNCTION define(id int) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$INSERT INTO doc VALUES (id, 'definer')$$;
SET ROLE regress_guard_bert;
BEGIN;
SELECT present('anna');
SELECT try('SELECT define(5)');
COMMIT;
SET ROLE regress_guard_carl;
BEGIN;
SELECT present('anna');
SELECT try('SELECT define(6)');
COMMIT;
RESET ROLE;
-- Neither hold nor anything else on the namespace is needed to write under one's own role's token; nor does it help.
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_guard_bert', 'hold')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_guard_bert', 'administer')$$);
SET ROLE regress_guard_bert;
BEGIN;
SELECT present('anna');
SELECT split_part(try($$INSERT INTO doc VALUES (7, 'bert')$$), E'\n', 1);
COMMIT;
-- A role of its own that may write needs no privilege on the extension's tables; without privilege on the table the token is no help.
RESET ROLE;
REVOKE ALL ON doc FROM regress_guard_anna;
SET ROLE regress_guard_anna;
BEGIN;
SELECT present('anna');
SELECT try($$INSERT INTO doc VALUES (8, 'anna')$$);
COMMIT;
RESET ROLE;
SELECT * FROM doc ORDER BY id;
DROP OWNED BY regress_guard_anna, regress_guard_bert, regress_guard_carl;
DROP ROLE regress_guard_anna, regress_guard_bert, regress_guard_carl;
