-- Namespaces: creating, changing, granting, dropping, and every bad argument.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

-- The first one opens the first epoch: numbered by the minutes since 2025, with the lineage of the server.
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT epoch - floor(extract(epoch FROM opened_at - '2025-01-01 UTC') / 60) AS from_clock, identity IS NOT NULL,
       opened_at BETWEEN now() - interval '1 min' AND clock_timestamp(), opened_by::regrole::text = quote_ident(current_user) AS by_me, state,
       system_identifier = (SELECT system_identifier FROM pg_control_system()),
       timeline = (('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int),
       database = (SELECT oid FROM pg_database WHERE datname = current_database()),
       fingerprint <> '', lsn <= pg_current_wal_insert_lsn()
  FROM fencing.epoch;
SELECT name, ttl, max_ttl, on_expiry, min_hold, cool_down, ephemeral, notify FROM fencing.namespace;
-- Its creator may use and change it.
SELECT n.name, m.role::text = quote_ident(current_user) AS me, m.privilege FROM fencing.member AS m JOIN fencing.namespace AS n ON n.id = m.namespace ORDER BY m.privilege;
-- The second opens no other, and says all.
SELECT try($$SELECT fencing.create_namespace('slow', '1 min', '1 day', 'accept_until_superseded', '2 s', '3 s', false, false)$$);
SELECT count(*) FROM fencing.epoch;
SELECT name, ttl, max_ttl, on_expiry, min_hold, cool_down, ephemeral, notify FROM fencing.namespace WHERE name = 'slow';

-- Names: [a-z0-9][a-z0-9_.-]{0,62}.
SELECT try(format('SELECT fencing.create_namespace(%L)', repeat('x', 63)));
SELECT try($$SELECT fencing.create_namespace('0')$$);
SELECT try($$SELECT fencing.create_namespace('a.b-c_d')$$);
SELECT try($$SELECT fencing.create_namespace('')$$);
SELECT try(format('SELECT fencing.create_namespace(%L)', repeat('x', 64)));
SELECT to_json(name), try(format('SELECT fencing.create_namespace(%L)', name)) LIKE '22023 invalid namespace name %'
  FROM unnest(ARRAY['Jobs', '_x', '-x', '.x', 'a b', 'a/b', ' a', 'a ', E'a\n', 'ä', '"a"']) AS name;
SELECT try($$SELECT fencing.create_namespace('jobs')$$);

-- Times: ttl from 100 ms to max_ttl; nothing negative, nothing in months.
SELECT try($$SELECT fencing.create_namespace('bad', ttl => '99 ms')$$);
SELECT try($$SELECT fencing.create_namespace('bad', ttl => '0')$$);
SELECT try($$SELECT fencing.create_namespace('bad', ttl => '1 h 1 s')$$);
SELECT try($$SELECT fencing.create_namespace('bad', ttl => '-1 s')$$);
SELECT try($$SELECT fencing.create_namespace('bad', ttl => '1 month')$$);
SELECT split_part(try($$SELECT fencing.create_namespace('bad', max_ttl => '99 ms')$$), E'\n', 1);
SELECT try($$SELECT fencing.create_namespace('bad', max_ttl => '29 s')$$);
SELECT try($$SELECT fencing.create_namespace('bad', max_ttl => '1 year')$$);
SELECT try($$SELECT fencing.create_namespace('bad', min_hold => '-1 s')$$);
SELECT try($$SELECT fencing.create_namespace('bad', min_hold => '1 month')$$);
SELECT try($$SELECT fencing.create_namespace('bad', cool_down => '-1 s')$$);
SELECT try($$SELECT fencing.create_namespace('bad', cool_down => '1 month')$$);
SELECT try($$SELECT fencing.create_namespace('bad', on_expiry => 'ignore')$$);
SELECT try($$SELECT fencing.create_namespace('edge', ttl => '100 ms', max_ttl => '100 ms')$$);

-- NULL.
SELECT try($$SELECT fencing.create_namespace(NULL)$$);
SELECT argument, try(format('SELECT fencing.create_namespace(%L, %s => NULL)', 'bad', argument))
  FROM unnest(ARRAY['ttl', 'max_ttl', 'on_expiry', 'min_hold', 'cool_down', 'ephemeral', 'notify']) AS argument;

-- Not together.
SELECT try($$SELECT fencing.create_namespace('bad', ephemeral => true, min_hold => '1 s')$$);
SELECT try($$SELECT fencing.create_namespace('bad', ephemeral => true, cool_down => '1 s')$$);

-- None of that left anything behind.
SELECT name FROM fencing.namespace ORDER BY name COLLATE "C";

-- Changing: null keeps.
SELECT try($$SELECT fencing.alter_namespace('jobs')$$);
SELECT ttl, max_ttl, on_expiry, min_hold, cool_down FROM fencing.namespace WHERE name = 'jobs';
SELECT try($$SELECT fencing.alter_namespace('jobs', ttl => '10 s')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', max_ttl => '20 s', on_expiry => 'accept_until_superseded')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', min_hold => '1 s', cool_down => '1 day')$$);
SELECT ttl, max_ttl, on_expiry, min_hold, cool_down FROM fencing.namespace WHERE name = 'jobs';
-- What it makes must be as good as new.
SELECT try($$SELECT fencing.alter_namespace('jobs', max_ttl => '9 s')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', ttl => '21 s')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', ttl => '50 ms')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', min_hold => '-1 s')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', cool_down => '1 month')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', ephemeral => true)$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', ephemeral => true, min_hold => '0', notify => true)$$);
SELECT try($$SELECT fencing.alter_namespace('job', ttl => '1 s')$$);
SELECT try($$SELECT fencing.alter_namespace('Not A Name')$$);
SELECT try($$SELECT fencing.alter_namespace(NULL)$$);
SELECT ttl, max_ttl, on_expiry, min_hold, cool_down, ephemeral, notify FROM fencing.namespace WHERE name = 'jobs';
SELECT try($$SELECT fencing.alter_namespace('jobs', '30 s', '1 h', 'reject', '0', '0', false, false)$$);

-- Granting.
CREATE ROLE regress_ns_anna;
CREATE ROLE regress_ns_team;
CREATE ROLE regress_ns_bert IN ROLE regress_ns_team;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_ns_team', 'hold')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_ns_team', 'hold')$$);
SELECT m.role, m.privilege FROM fencing.member AS m JOIN fencing.namespace AS n ON n.id = m.namespace WHERE n.name = 'jobs' AND m.role::text ~ '^regress_';
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_ns_team', 'select')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_ns_team', 'HOLD')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_ns_team', '')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_ns_nobody', 'hold')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 4000000000::oid::regrole, 'hold')$$);
SELECT try($$SELECT fencing.grant_namespace('job', 'regress_ns_team', 'hold')$$);
SELECT try($$SELECT fencing.grant_namespace(NULL, 'regress_ns_team', 'hold')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', NULL, 'hold')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_ns_team', NULL)$$);

-- Not permitted: without a privilege, nothing; hold and observe change nothing.
SET ROLE regress_ns_anna;
SELECT try($$SELECT fencing.create_namespace('mine')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs', ttl => '1 s')$$);
SELECT try($$SELECT fencing.drop_namespace('jobs')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_ns_anna', 'hold')$$);
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'anna')$$);
SELECT try($$SELECT fencing.inspect('jobs', 'a')$$);
RESET ROLE;
SELECT try($$SELECT fencing.drop_namespace('zz')$$);
-- A member of a role that may.
SET ROLE regress_ns_bert;
SELECT try($$SELECT fencing.alter_namespace('jobs', ttl => '1 s')$$);
SELECT take('bert');
SELECT status FROM fencing.release(token('bert'));
RESET ROLE;
-- Observing is not holding, holding not administering, administering not holding.
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_ns_anna', 'observe')$$);
SET ROLE regress_ns_anna;
SELECT state FROM fencing.inspect('jobs', 'a');
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'anna')$$);
RESET ROLE;
SELECT try($$SELECT fencing.grant_namespace('slow', 'regress_ns_anna', 'administer')$$);
SET ROLE regress_ns_anna;
SELECT try($$SELECT fencing.alter_namespace('slow', ttl => '2 min')$$);
SELECT try($$SELECT fencing.acquire('slow', 'a', 'anna')$$);
SELECT try($$SELECT fencing.grant_namespace('slow', 'regress_ns_anna', 'hold')$$);
SELECT take('anna', 'a', 'slow');
SELECT status FROM fencing.release(token('anna'));
-- A definer's function lends nothing: the session's role counts.
RESET ROLE;
CREATE FUNCTION lent() RETURNS void LANGUAGE sql SECURITY DEFINER AS $$SELECT fencing.create_namespace('lent')$$;
SET ROLE regress_ns_anna;
SELECT try('SELECT lent()');
RESET ROLE;

-- Dropping: not while a guard names it, not while a lease is held.
CREATE TABLE doc (id int);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
SELECT try($$SELECT fencing.drop_namespace('jobs')$$);
SELECT try($$SELECT fencing.unprotect('doc')$$);
SELECT take('held');
SELECT try($$SELECT fencing.drop_namespace('jobs')$$);
SELECT status FROM fencing.release(token('held'));
SELECT try($$SELECT fencing.drop_namespace('jobs')$$);
SELECT try($$SELECT fencing.drop_namespace('jobs')$$);
SELECT try($$SELECT fencing.drop_namespace(NULL)$$);
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'late')$$);
SELECT count(*) FROM fencing.member WHERE namespace NOT IN (SELECT id FROM fencing.namespace);
-- One of the same name is another: what the old one granted is void, the order of tokens goes on.
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT state FROM fencing.inspect('jobs', 'a');
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
SELECT take('new');
SELECT token('new') > token('held');
BEGIN;
SELECT present('held');
SELECT try('INSERT INTO doc VALUES (1)');
ROLLBACK;
SELECT status FROM fencing.release(token('new'));

-- Transactions: what was rolled back never was, and what happened in this one is there.
BEGIN;
SELECT try($$SELECT fencing.create_namespace('brief')$$);
SELECT state FROM fencing.inspect('brief', 'a');
SAVEPOINT s;
SELECT try($$SELECT fencing.drop_namespace('brief')$$);
SELECT try($$SELECT fencing.inspect('brief', 'a')$$);
ROLLBACK TO s;
SELECT state FROM fencing.inspect('brief', 'a');
ROLLBACK;
SELECT try($$SELECT fencing.inspect('brief', 'a')$$);
BEGIN READ ONLY;
SELECT try($$SELECT fencing.create_namespace('other')$$);
SELECT try($$SELECT fencing.alter_namespace('jobs')$$);
SELECT try($$SELECT fencing.drop_namespace('jobs')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_ns_anna', 'hold')$$);
ROLLBACK;

SELECT name FROM fencing.namespace ORDER BY name COLLATE "C";
DROP ROLE regress_ns_anna, regress_ns_bert, regress_ns_team;
