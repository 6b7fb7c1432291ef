-- acquire(bind_session => true): the term ends with its session, not with what merely cleans that up.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '10 min')$$);
CREATE TABLE doc (v text, fence bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', key => 'a', present_column => 'fence')$$);
SELECT status, token, acquired_at, expires_at - acquired_at AS ttl FROM fencing.acquire('jobs', 'a', 'one', bind_session => true) \gset bound_
SELECT :'bound_status', :'bound_ttl';
INSERT INTO named VALUES ('bound', :bound_token);
SELECT take('free', 'b');
SELECT key, session_pid = pg_backend_pid() AS mine, session_start <= acquired_at AS started FROM fencing.lease ORDER BY key;
-- What is bound can be renewed, written under and given back, as any other.
SELECT status FROM fencing.renew(token('bound'));
SELECT try('INSERT INTO doc VALUES (''one'', {bound})');
SELECT status FROM fencing.release(token('bound'));
SELECT status, token FROM fencing.acquire('jobs', 'a', 'one', bind_session => true) \gset bound_
UPDATE named SET token = :bound_token WHERE name = 'bound';
-- Cleaning up.
DISCARD ALL;
SELECT pg_advisory_unlock_all() IS NULL;
SELECT status FROM fencing.check_token(token('bound'));
SELECT pg_backend_pid() AS pid \gset
\c
\set ECHO none
SET client_min_messages = warning;
SELECT set_config('test.pid', :'pid', false) \gset
DO $$
BEGIN
    WHILE EXISTS (SELECT FROM pg_stat_get_activity(current_setting('test.pid')::int)) LOOP
        PERFORM pg_sleep(0.01);
        PERFORM pg_stat_clear_snapshot();
    END LOOP;
END
$$;
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set ECHO all
-- The session is gone.
SELECT name, status FROM named AS n, fencing.check_token(n.token) ORDER BY name;
SELECT state, token, holder FROM fencing.inspect('jobs', 'a');
SELECT end_reason, ended_by, ended_at < expires_at AS before_expiry, ended_at = end_observed_at AS observed FROM fencing.term WHERE token = token('bound');
SELECT status FROM fencing.renew(token('bound'));
SELECT status FROM fencing.release(token('bound'));
SELECT try('INSERT INTO doc VALUES (''late'', {bound})');
SELECT take('next');
SELECT status FROM fencing.check_token(token('bound'));
SELECT try('INSERT INTO doc VALUES (''late'', {bound})');
SELECT try($$SELECT fencing.acquire('jobs', 'a', 'x', bind_session => NULL)$$);
