-- revoke_namespace: a privilege is withdrawn; with hold go the terms that it stood for.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s')$$);
SELECT try($$SELECT fencing.create_namespace('other', ttl => '30 s')$$);
CREATE ROLE regress_withdraw_team;
CREATE ROLE regress_withdraw_anna;
CREATE ROLE regress_withdraw_bert IN ROLE regress_withdraw_team;
CREATE ROLE regress_withdraw_carl IN ROLE regress_withdraw_team;
CREATE FUNCTION members() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT m.role || ' ' || m.privilege FROM fencing.member AS m JOIN fencing.namespace AS n ON n.id = m.namespace
     WHERE n.name = 'jobs' AND m.role::text ~ '^regress' ORDER BY 1
$$;
CREATE VIEW ended AS SELECT name, status, t.end_reason, t.ended_by IS NOT NULL AS by_someone
  FROM named AS n JOIN fencing.term AS t USING (token), fencing.check_token(token) AS status ORDER BY name COLLATE "C";
SELECT role, privilege, try(format('SELECT fencing.grant_namespace(%L, %L, %L)', 'jobs', 'regress_withdraw_' || role, privilege))
  FROM (VALUES ('anna', 'hold'), ('anna', 'observe'), ('team', 'hold'), ('carl', 'hold')) AS g (role, privilege);
SELECT try($$SELECT fencing.grant_namespace('other', 'regress_withdraw_anna', 'hold')$$);
SET ROLE regress_withdraw_anna;
SELECT take('anna', 'a'), take('elsewhere', 'a', 'other');
SELECT take('lapsed', 'l');
SET ROLE regress_withdraw_bert;
SELECT take('bert', 'b');
SET ROLE regress_withdraw_carl;
SELECT take('carl', 'c');
RESET ROLE;
SELECT take('super', 's');

-- Observing is not holding: nothing ends.
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_anna', 'observe')$$);
SELECT * FROM members();
SELECT name, status FROM ended;
-- hold: her terms in this namespace end, whatever she holds elsewhere; what has lapsed is over anyway.
SET fencing.test_clock_offset = '10 s';
SELECT status FROM named, fencing.renew(token) WHERE name <> 'lapsed';
SET fencing.test_clock_offset = '31 s';
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_anna', 'hold')$$);
SELECT * FROM members();
SELECT * FROM ended;
SELECT kind, key, name_of(token), detail FROM fencing.event;
SET ROLE regress_withdraw_anna;
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'anna')$$);
SELECT status FROM fencing.renew(token('anna'));
RESET ROLE;
-- From a team: the terms of members who have it by the team alone. Nothing else happens to others.
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_team', 'hold')$$);
SELECT * FROM ended;
SELECT kind, key, name_of(token), detail FROM fencing.event OFFSET 1;
-- A superuser needs no privilege, and loses nothing.
SELECT try(format('SELECT fencing.revoke_namespace(%L, %L, %L)', 'jobs', current_user, 'hold'));
SELECT status FROM fencing.check_token(token('super'));
-- Rolled back, nothing has happened.
BEGIN;
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_carl', 'hold')$$);
SELECT status FROM fencing.check_token(token('carl'));
ROLLBACK;
SELECT status FROM fencing.check_token(token('carl'));
SET ROLE regress_withdraw_carl;
SELECT status FROM fencing.renew(token('carl'));
RESET ROLE;
RESET fencing.test_clock_offset;
-- What it hasn't, it needn't lose.
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_anna', 'hold')$$);
SELECT count(*) FROM fencing.event;

-- An administrator may withdraw its own.
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_withdraw_anna', 'administer')$$);
SET ROLE regress_withdraw_anna;
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_carl', 'hold')$$);
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_anna', 'administer')$$);
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_anna', 'administer')$$);
RESET ROLE;
SELECT * FROM members();
SELECT status FROM fencing.check_token(token('carl'));

-- A role that is dropped stays on the list by its number, until somebody cleans up. Nobody gets in by it.
CREATE ROLE regress_withdraw_dora;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_withdraw_dora', 'hold')$$);
SET ROLE regress_withdraw_dora;
SELECT take('dora', 'd');
RESET ROLE;
SELECT oid::text AS dora FROM pg_roles WHERE rolname = 'regress_withdraw_dora' \gset
DROP ROLE regress_withdraw_dora;
CREATE ROLE regress_withdraw_dora;
SELECT m.role::text = :'dora' AS dropped, m.privilege FROM fencing.member AS m WHERE role::oid NOT IN (SELECT oid FROM pg_roles);
SET ROLE regress_withdraw_dora;
SELECT split_part(try($$SELECT fencing.acquire('jobs', 'e', 'dora')$$), E'\n', 1);
SELECT try('SELECT fencing.renew({dora})');
RESET ROLE;
SELECT status FROM fencing.check_token(token('dora'));
SELECT try(format('SELECT fencing.revoke_namespace(%L, %L, %L)', 'jobs', :'dora', 'hold'));
SELECT status FROM fencing.check_token(token('dora'));
SELECT replace(detail::text, :'dora', 'its number') FROM fencing.event ORDER BY id DESC LIMIT 1;
SELECT * FROM members();
SELECT replace(try(format('SELECT fencing.revoke_namespace(%L, %L, %L)', 'jobs', :'dora', 'hold')), :'dora', 'its number');

-- Bad arguments.
SELECT try($$SELECT fencing.revoke_namespace(NULL, 'regress_withdraw_anna', 'hold')$$);
SELECT try($$SELECT fencing.revoke_namespace('jobs', NULL, 'hold')$$);
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_anna', NULL)$$);
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_anna', 'select')$$);
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_nobody', 'hold')$$);
SELECT try($$SELECT fencing.revoke_namespace('job', 'regress_withdraw_anna', 'hold')$$);
BEGIN READ ONLY;
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_withdraw_anna', 'hold')$$);
ROLLBACK;
DROP ROLE regress_withdraw_team, regress_withdraw_anna, regress_withdraw_bert, regress_withdraw_carl, regress_withdraw_dora;
