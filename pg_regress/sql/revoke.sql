-- revoke: an administrator takes a term away, at once or after a grace.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s')$$);
SELECT try($$SELECT fencing.create_namespace('lax', ttl => '30 s', on_expiry => 'accept_until_superseded')$$);
SELECT try($$SELECT fencing.create_namespace('calm', ttl => '30 s', cool_down => '1 min')$$);
CREATE TABLE doc (body text);
CREATE TABLE doc_lax (body text);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
SELECT try($$SELECT fencing.protect('doc_lax', 'lax', 'a')$$);
-- How a term ended, as its record has it: when, relative to its grant, and who.
CREATE FUNCTION how(name text, OUT reason text, OUT by_me boolean, OUT lasted interval, OUT seen text, OUT superseded boolean) LANGUAGE sql AS $$
    SELECT t.end_reason, t.ended_by = (SELECT oid FROM pg_roles WHERE rolname = current_user),
           date_trunc('second', t.ended_at - t.acquired_at),
           CASE WHEN t.end_observed_at = t.ended_at THEN 'at once' WHEN t.end_observed_at > t.ended_at THEN 'later' END, t.superseded_by IS NOT NULL
      FROM fencing.term AS t WHERE t.token = token($1)
$$;
CREATE VIEW happened AS
    SELECT kind, key, name_of(token) AS term, detail - 'grace_ms' AS detail, (detail ->> 'grace_ms')::int BETWEEN 1 AND 10000 AS grace
      FROM fencing.event WHERE kind <> 'leases_purged' ORDER BY id;

-- Nobody holds it: never granted, released.
SELECT status FROM fencing.revoke('jobs', 'a', 'why not');
SELECT take('a');
SELECT status FROM fencing.release(token('a'));
BEGIN;
SELECT status FROM fencing.revoke('jobs', 'a', 'why not');
SELECT pg_current_xact_id_if_assigned();
COMMIT;
SELECT * FROM happened;

-- At once: the term is over, its holder writes no more, the lease is free.
SELECT take('b');
SELECT status FROM fencing.revoke('jobs', 'a', 'bad deploy');
SELECT status FROM fencing.check_token(token('b'));
SELECT status FROM fencing.renew(token('b'));
SELECT status FROM fencing.release(token('b'));
BEGIN;
SELECT present('b');
SELECT try($$INSERT INTO doc VALUES ('b')$$);
COMMIT;
SELECT state, token, holder FROM fencing.inspect('jobs', 'a');
SELECT * FROM how('b');
SELECT status FROM fencing.revoke('jobs', 'a', 'twice');
-- The next term is another matter; that the old one was revoked stays known.
SELECT take('c');
SELECT status FROM fencing.check_token(token('b'));
SELECT * FROM how('b');
SELECT * FROM happened;

-- With a grace: its holder is asked to hand over, renews up to the end and no further.
SELECT status FROM fencing.revoke('jobs', 'a', 'moving', '10 s');
SELECT state, remaining BETWEEN '9 s' AND '10 s' AS remaining FROM fencing.inspect('jobs', 'a');
SELECT status, expires_at - clock_timestamp() BETWEEN '9 s' AND '10 s' AS rest, trust_for BETWEEN '9 s' AND '10 s' AS trust, handover_requested FROM fencing.renew(token('c'), '30 s');
SELECT take('d');
BEGIN;
SELECT present('c');
SELECT try($$INSERT INTO doc VALUES ('c')$$);
COMMIT;
SELECT * FROM how('c');
-- Sooner, but not later.
SELECT status FROM fencing.revoke('jobs', 'a', 'no hurry', '1 h');
SELECT state, remaining BETWEEN '8 s' AND '10 s' AS remaining FROM fencing.inspect('jobs', 'a');
SELECT status FROM fencing.revoke('jobs', 'a', 'hurry', '5 s');
SELECT state, remaining BETWEEN '4 s' AND '5 s' AS remaining FROM fencing.inspect('jobs', 'a');
SELECT * FROM happened OFFSET 1;
-- Once it has run out, the term is revoked, not expired, and says when: as soon as anybody takes over.
SET fencing.test_clock_offset = '6 s';
SELECT status FROM fencing.check_token(token('c'));
SELECT status FROM fencing.renew(token('c'));
SELECT status FROM fencing.release(token('c'));
SELECT status FROM fencing.revoke('jobs', 'a', 'late');
SELECT state, token, holder FROM fencing.inspect('jobs', 'a');
BEGIN;
SELECT present('c');
SELECT try($$INSERT INTO doc VALUES ('c')$$);
COMMIT;
SELECT take('d');
SELECT status FROM fencing.check_token(token('c'));
SELECT reason, by_me, lasted BETWEEN '4 s' AND '6 s' AS lasted, seen, superseded FROM how('c');
-- The next one knows nothing of it.
SELECT status, handover_requested FROM fencing.renew(token('d'));
RESET fencing.test_clock_offset;
-- In its grace a term may end otherwise, and did so first.
SELECT status FROM fencing.revoke('jobs', 'a', 'moving', '10 s');
SELECT status FROM fencing.release(token('d'));
SET fencing.test_clock_offset = '20 s';
SELECT status FROM fencing.check_token(token('d'));
SELECT reason, by_me, seen FROM how('d');
RESET fencing.test_clock_offset;
-- A grace that is longer than what remains: the holder may renew, or let it lapse.
SELECT take('e');
SELECT status FROM fencing.revoke('jobs', 'a', 'some day', '1 min');
SET fencing.test_clock_offset = '40 s';
SELECT status FROM fencing.check_token(token('e'));
SELECT status FROM fencing.revoke('jobs', 'a', 'it lapsed');
SELECT take('f');
SELECT status FROM fencing.check_token(token('e'));
SELECT reason, by_me, seen FROM how('e');
RESET fencing.test_clock_offset;

-- Where a lapsed term may write until it is superseded, revoke ends that.
SELECT take('l', 'a', 'lax');
SET fencing.test_clock_offset = '1 min';
SELECT status FROM fencing.check_token(token('l'));
BEGIN;
SELECT present('l');
SELECT try($$INSERT INTO doc_lax VALUES ('l')$$);
COMMIT;
SELECT status FROM fencing.revoke('lax', 'a', 'enough');
SELECT status FROM fencing.check_token(token('l'));
BEGIN;
SELECT present('l');
SELECT try($$INSERT INTO doc_lax VALUES ('l')$$);
COMMIT;
SELECT status FROM fencing.revoke('lax', 'a', 'twice');
SELECT * FROM how('l');
-- Also after a grace; meanwhile anybody may take over.
SELECT take('m', 'a', 'lax');
SET fencing.test_clock_offset = '2 min';
SELECT status FROM fencing.revoke('lax', 'a', 'soon', '10 s');
SELECT status FROM fencing.check_token(token('m'));
BEGIN;
SELECT present('m');
SELECT try($$INSERT INTO doc_lax VALUES ('m')$$);
COMMIT;
SET fencing.test_clock_offset = '131 s';
SELECT status FROM fencing.check_token(token('m'));
BEGIN;
SELECT present('m');
SELECT try($$INSERT INTO doc_lax VALUES ('m')$$);
COMMIT;
RESET fencing.test_clock_offset;

-- cool_down follows.
SELECT take('o', 'a', 'calm');
SELECT status FROM fencing.revoke('calm', 'a', 'rest');
SELECT state FROM fencing.inspect('calm', 'a');
SELECT take('p', 'a', 'calm');
SET fencing.test_clock_offset = '61 s';
SELECT take('p', 'a', 'calm');
SELECT status FROM fencing.revoke('calm', 'a', 'rest', '10 s');
SET fencing.test_clock_offset = '130 s';
SELECT state FROM fencing.inspect('calm', 'a');
SET fencing.test_clock_offset = '132 s';
SELECT take('q', 'a', 'calm');
RESET fencing.test_clock_offset;

-- In a transaction: what it wrote under the term itself may stand, as with release; rolled back, nothing happened.
SELECT take('x', 'x');
BEGIN;
SELECT status FROM fencing.revoke('jobs', 'x', 'undone');
SELECT status FROM fencing.check_token(token('x'));
ROLLBACK;
SELECT status FROM fencing.check_token(token('x'));
BEGIN;
SELECT fencing.assert_current(token('x'));
SELECT status FROM fencing.revoke('jobs', 'x', 'after my last write');
COMMIT;
SELECT status FROM fencing.check_token(token('x'));
SELECT take('y', 'x');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT status FROM fencing.check_token(token('y'));
SELECT status FROM fencing.revoke('jobs', 'x', 'serializable');
COMMIT;

-- Who may: administer alone.
CREATE ROLE regress_revoke_anna;
SELECT take('z', 'z');
SET ROLE regress_revoke_anna;
SELECT try($$SELECT fencing.revoke('jobs', 'z', 'mine')$$);
RESET ROLE;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_revoke_anna', 'hold')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_revoke_anna', 'observe')$$);
SET ROLE regress_revoke_anna;
SELECT split_part(try($$SELECT fencing.revoke('jobs', 'z', 'mine')$$), E'\n', 1);
RESET ROLE;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_revoke_anna', 'administer')$$);
SET ROLE regress_revoke_anna;
SELECT status FROM fencing.revoke('jobs', 'z', 'mine');
RESET ROLE;
SELECT end_reason, ended_by::regrole FROM fencing.term WHERE token = token('z');
SELECT kind, actor::regrole, detail, reported FROM fencing.event ORDER BY id DESC LIMIT 1;
DROP ROLE regress_revoke_anna;

-- Bad arguments.
SELECT try($$SELECT fencing.revoke(NULL, 'a', 'x')$$);
SELECT try($$SELECT fencing.revoke('jobs', NULL, 'x')$$);
SELECT try($$SELECT fencing.revoke('jobs', 'a', NULL)$$);
SELECT try($$SELECT fencing.revoke('jobs', 'a', 'x', NULL)$$);
SELECT try($$SELECT fencing.revoke('jobs', '', 'x')$$);
SELECT try($$SELECT fencing.revoke('job', 'a', 'x')$$);
SELECT try($$SELECT fencing.revoke('jobs', 'a', ' ')$$);
SELECT try(format('SELECT fencing.revoke(%L, %L, %L)', 'jobs', 'a', repeat('r', 1025)));
SELECT try($$SELECT fencing.revoke('jobs', 'a', 'x', '-1 s')$$);
SELECT try($$SELECT fencing.revoke('jobs', 'a', 'x', '1 month')$$);
BEGIN READ ONLY;
SELECT try($$SELECT fencing.revoke('jobs', 'a', 'x')$$);
ROLLBACK;
