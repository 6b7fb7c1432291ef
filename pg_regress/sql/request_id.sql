-- request_id: asked again, acquire gives the same term while that is current, and nothing once it is over.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s', cool_down => '10 s')$$);
-- Asks under request n and names the token; whether it is the one that was given before, and the ttl of what it is now.
CREATE FUNCTION ask(n int, name text, key text DEFAULT 'a', ttl interval DEFAULT NULL, purpose text DEFAULT NULL,
                    OUT status text, OUT token text, OUT holder text, OUT ttl_now interval) LANGUAGE plpgsql AS $$
DECLARE
    answer record;
BEGIN
    SELECT * INTO answer FROM fencing.acquire('jobs', ask.key, ask.name, ask.ttl, request_id => format('00000000-0000-0000-0000-%s', lpad(n::text, 12, '0'))::uuid, purpose => ask.purpose);
    IF answer.status = 'granted' AND NOT EXISTS (SELECT FROM named AS n WHERE n.token = answer.token) THEN
        INSERT INTO named VALUES (ask.name, answer.token);
    END IF;
    SELECT answer.status, name_of(answer.token), answer.holder, l.expires_at - l.renewed_at INTO ask.status, ask.token, ask.holder, ask.ttl_now
      FROM (VALUES (1)) AS one LEFT JOIN fencing.lease AS l ON l.token = answer.token;
END
$$;
GRANT SELECT ON fencing.lease TO PUBLIC;
CREATE FUNCTION recorded() RETURNS TABLE (token text, holder text, request int, purpose text, end_reason text, superseded_by text) LANGUAGE sql
    BEGIN ATOMIC SELECT name_of(token), holder, right(request_id::text, 3)::int, purpose, end_reason, name_of(superseded_by) FROM fencing.term ORDER BY fencing.term.token; END;

-- The reply to the first was lost. Whatever else the repeat says, it is the first one's term.
SELECT * FROM ask(1, 'one', ttl => '20 s', purpose => 'first');
SELECT * FROM ask(1, 'one', ttl => '20 s', purpose => 'first');
SELECT * FROM ask(1, 'else', ttl => '10 min', purpose => 'second');
SELECT * FROM recorded();
-- What it may rely on is what is left, of what the last renewal gave it.
SELECT status FROM fencing.renew(token('one'), '25 s');
SELECT status, trust_for BETWEEN interval '20 s' AND interval '25 s' AS trust_for, expires_at - acquired_at BETWEEN interval '25 s' AND interval '40 s' AS expires_at
  FROM fencing.acquire('jobs', 'a', 'x', request_id => '00000000-0000-0000-0000-000000000001');
-- Another request, or none, is another holder's.
SELECT * FROM ask(2, 'two');
SELECT take('none');
-- The id is the lease's and the role's own.
SELECT * FROM ask(1, 'other', 'other');
CREATE ROLE regress_request_anna;
CREATE ROLE regress_request_bert IN ROLE regress_request_anna;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_request_anna', 'hold')$$);
SET ROLE regress_request_anna;
SELECT status, token, holder FROM fencing.acquire('jobs', 'a', 'anna', request_id => '00000000-0000-0000-0000-000000000001');
SELECT * FROM ask(9, 'anna', 'c');
-- A member of the role that asked is another role.
SET ROLE regress_request_bert;
SELECT status, token FROM fencing.acquire('jobs', 'c', 'bert', request_id => '00000000-0000-0000-0000-000000000009');
RESET ROLE;
SELECT status, token FROM fencing.acquire('jobs', 'c', 'super', request_id => '00000000-0000-0000-0000-000000000009');

-- Expired: over, though nobody has taken over, and also when anybody could.
SET fencing.test_clock_offset = '1 min';
SELECT * FROM ask(1, 'one');
SELECT state FROM fencing.inspect('jobs', 'a');
-- It grants nothing, now or ever: a new request does.
SELECT * FROM ask(3, 'three');
-- Superseded: over.
SELECT * FROM ask(1, 'one');
SELECT * FROM ask(3, 'three again');
RESET fencing.test_clock_offset;
SELECT * FROM ask(1, 'one');
-- Released: over.
SELECT status FROM fencing.release(token('three'));
SELECT * FROM ask(3, 'three');
SELECT * FROM ask(4, 'four');
SELECT * FROM ask(3, 'three');
SELECT * FROM ask(4, 'four');
SELECT * FROM recorded();

-- What was refused was not answered: asked again, it may be granted.
SELECT * FROM ask(5, 'five');
SELECT status FROM fencing.release(token('four'));
SELECT * FROM ask(5, 'five');
SELECT * FROM ask(5, 'five');
-- So may what was rolled back.
SET fencing.acquire_in_block = on;
BEGIN;
SELECT * FROM ask(6, 'six', 'd');
SELECT * FROM ask(6, 'six', 'd');
ROLLBACK;
SELECT * FROM ask(6, 'again', 'd');
RESET fencing.acquire_in_block;
-- A lease that was dropped with its namespace, and is another of the same name.
SELECT DISTINCT fencing.release(token) FROM fencing.lease WHERE state = 'held';
SELECT try($$SELECT fencing.drop_namespace('jobs')$$);
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT * FROM ask(1, 'new');
SELECT count(*) FROM fencing.request;
DROP ROLE regress_request_bert, regress_request_anna;
