-- What every call says where the lineage has changed: nothing is granted, and nothing that was granted
-- gives authority. What only takes authority away, or is evidence, goes on.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set lineage :abs_srcdir '/sql/include/lineage.sql'
\i :lineage
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', on_expiry => 'accept_until_superseded')$$);
SELECT try($$SELECT fencing.create_namespace('other')$$);
CREATE TABLE t (id int, fence bigint, seen bigint);
CREATE TABLE lax (id int);
CREATE TABLE watched (id int);
CREATE TABLE keyed (k text);
SELECT try($$SELECT fencing.protect('t', 'jobs', key => 'a', present_column => 'fence', token_column => 'seen')$$);
SELECT try($$SELECT fencing.protect('lax', 'jobs', key => 'a', on_missing => 'admit')$$);
SELECT try($$SELECT fencing.protect('watched', 'jobs', key => 'a', mode => 'observe')$$);
SELECT try($$SELECT fencing.protect('keyed', 'jobs', key_columns => '{k}')$$);
SELECT take('first');
SELECT take('other', 'o');
SELECT take('gone', 'g');
SELECT status FROM fencing.release(token('gone'));
SELECT status FROM fencing.acquire('jobs', 'r', 'x', request_id => '11111111-1111-1111-1111-111111111111');
SELECT try('INSERT INTO t VALUES (1, {first})');
SELECT tamper('timeline = timeline + 1');

-- Granting.
SELECT status, token, epoch, seq, acquired_at, expires_at, trust_for, holder, retry_after, blocked_by FROM fencing.acquire('jobs', 'a', 'x');
SELECT status FROM fencing.acquire('jobs', 'new', 'x', wait => '10 min');
-- Also the same request again.
SELECT status FROM fencing.acquire('jobs', 'r', 'x', request_id => '11111111-1111-1111-1111-111111111111');
-- Holding.
SELECT status, expires_at, trust_for, handover_requested FROM fencing.renew(token('first'));
SELECT name_of(token), status FROM fencing.renew_all(ARRAY[token('first'), token('gone'), 5]);
SELECT status FROM fencing.release(token('first'));
SELECT status FROM fencing.check_token(token('first'));
SELECT status FROM fencing.check_token(token('gone'));
SELECT state, name_of(token), holder FROM fencing.inspect('jobs', 'a');
SELECT state FROM fencing.inspect('jobs', 'never seen');
SELECT * FROM fencing.blockers('jobs', 'a');
-- Writing: whatever is presented, and where nothing is.
SELECT anywhere(try('INSERT INTO t VALUES (2, {first})', hints => true));
BEGIN;
SELECT present('first');
SELECT left(try('UPDATE t SET id = 3'), 5);
SELECT left(try('DELETE FROM t'), 5);
SELECT left(try('TRUNCATE t'), 5);
SELECT left(try($$INSERT INTO keyed VALUES ('a')$$), 5);
ROLLBACK;
SELECT left(try('INSERT INTO t VALUES (2)'), 5);
SELECT left(try('INSERT INTO lax VALUES (1)'), 5);
SELECT left(try($$INSERT INTO keyed VALUES ('a')$$), 5);
SELECT left(try('SELECT fencing.assert_current({first})'), 5);
-- A guard that only observes says so, and lets it pass.
SELECT try('INSERT INTO watched VALUES (1)');
SELECT kind, anywhere(detail ->> 'sqlstate') FROM fencing.event WHERE kind = 'observed';
-- A superuser who says why writes on.
BEGIN;
SELECT try($$SELECT fencing.maintain('repair')$$);
SELECT try('DELETE FROM t');
ROLLBACK;
-- Administration.
SELECT fencing.request_handover('jobs', 'o');
SELECT status FROM fencing.revoke('jobs', 'o', 'copy');
SELECT status FROM fencing.check_token(token('other'));
SELECT status FROM fencing.drop_lease('jobs', 'g');
SELECT fencing.purge_leases('0');
SELECT try($$SELECT fencing.report({first}, 'worker_stopped', '{}')$$);
SELECT try($$SELECT fencing.create_namespace('copy')$$);
SELECT status FROM fencing.acquire('copy', 'a', 'x');
SELECT try($$SELECT fencing.alter_namespace('copy', ttl => '1 min')$$);
SELECT try($$SELECT fencing.drop_namespace('copy')$$);
SELECT try($$SELECT fencing.drop_namespace('other')$$);
CREATE ROLE regress_closed_anna;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_closed_anna', 'hold')$$);
SELECT try($$SELECT fencing.revoke_namespace('jobs', 'regress_closed_anna', 'hold')$$);
DROP ROLE regress_closed_anna;
SELECT count(*) FROM fencing.epoch;
