-- advance_epoch: the next epoch in one call. Every older term is void, and every lease is free at once.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

-- Where none was ever opened, it opens the first.
SELECT fencing.advance_epoch('too early') AS first \gset
SELECT epoch = :first, reason, state FROM fencing.epoch;
SELECT try($$SELECT fencing.create_namespace('jobs', min_hold => '1 h', cool_down => '1 h')$$);
SELECT count(*) FROM fencing.epoch;

CREATE TABLE doc (k text, v text);
SELECT try($$SELECT fencing.protect('doc', 'jobs', key_columns => '{k}')$$);
SELECT take('held', 'a'), take('released', 'b'), take('revoked', 'c'), take('asked', 'd');
SELECT fencing.release(token('released')), fencing.revoke('jobs', 'c', 'test');
SELECT status FROM fencing.acquire('jobs', 'e', 'x', request_id => '00000000-0000-0000-0000-000000000001');
SELECT status FROM fencing.acquire('jobs', 'b', 'x');

SELECT epoch AS before, nextval('fencing.term_seq') AS seq, (SELECT max(token) FROM fencing.term) AS highest FROM fencing.epoch ORDER BY epoch DESC LIMIT 1 \gset
SELECT fencing.advance_epoch('a test') AS opened \gset
SELECT :opened > :before, epoch = :opened, reason, opened_by::regrole, state, closed_at, closing_on FROM fencing.epoch ORDER BY epoch DESC LIMIT 1;
SELECT state, closed_at IS NOT NULL, closing_on IS NOT NULL FROM fencing.epoch WHERE epoch = :before;
-- The sequence has moved on, by less than 2^24.
SELECT last_value - :seq BETWEEN 1 AND 1 << 24 FROM fencing.term_seq;

-- The older terms.
SELECT name, fencing.check_token(token), r.status, fencing.release(token) FROM named, fencing.renew(token) AS r ORDER BY name;
SELECT name, a.status FROM named, fencing.renew_all(ARRAY[token]) AS a ORDER BY name;
SELECT present('held');
BEGIN;
SELECT present('held');
SELECT replace(try($$INSERT INTO doc VALUES ('a', 'stale')$$), :'opened', '<opened>');
ROLLBACK;
SELECT replace(try('SELECT fencing.assert_current({held})'), :'opened', '<opened>');
SELECT fencing.revoke('jobs', 'a', 'test'), fencing.request_handover('jobs', 'a');
SELECT state, token, holder, acquired_at, expires_at, remaining, waiters, blocked_by FROM fencing.inspect('jobs', 'a');
SELECT count(*) FROM fencing.evict('jobs', 'a');
SELECT status FROM fencing.acquire('jobs', 'e', 'x', request_id => '00000000-0000-0000-0000-000000000001');

-- Whatever keeps a lease back in one epoch, keeps it back in no other.
SELECT take('new a', 'a'), take('new b', 'b'), take('new c', 'c');
SELECT bool_and(fencing.epoch_of(token) = :opened) FROM named WHERE name LIKE 'new%';
BEGIN;
SELECT present('new a');
SELECT try($$INSERT INTO doc VALUES ('a', 'new')$$);
COMMIT;
BEGIN;
SELECT present('held');
SELECT replace(try($$INSERT INTO doc VALUES ('a', 'stale')$$), :'opened', '<opened>');
ROLLBACK;
-- What became of a term is recorded by the takeover; until then it stands as it was.
SELECT n.name, t.end_reason, t.ended_at = e.closed_at AS with_epoch, t.ended_by, name_of(t.superseded_by), fencing.check_token(t.token)
  FROM fencing.term AS t JOIN named AS n USING (token) JOIN fencing.epoch AS e USING (epoch)
 WHERE n.name NOT LIKE 'new%' ORDER BY n.name;

-- A dropped lease of an older epoch ended with that.
SELECT fencing.drop_lease('jobs', 'd'), fencing.check_token(token('asked'));
SELECT t.end_reason, t.ended_at = e.closed_at FROM fencing.term AS t JOIN fencing.epoch AS e USING (epoch) WHERE token = token('asked');
SELECT fencing.purge_leases('0') > 0, count(*) FROM fencing.lease;

-- Once more: it opens another.
SELECT fencing.advance_epoch('again') > :opened;
SELECT fencing.check_token(token('new a')), fencing.check_token(token('held'));

-- What is recorded.
SELECT kind, actor::regrole, namespace, key, token, (SELECT string_agg(k, ' ' ORDER BY k COLLATE "C") FROM jsonb_object_keys(detail) AS k) AS detail
  FROM fencing.event WHERE kind LIKE 'epoch%' ORDER BY id;
SELECT (detail ->> 'epoch')::bigint = :before, detail ->> 'reason', (detail ->> 'highest_term')::bigint = :highest,
       (detail ->> 'last_sequence_value')::bigint = :seq, detail ->> 'held_terms',
       detail -> 'recorded' ->> 'timeline', detail -> 'recorded' ->> 'fingerprint' = detail -> 'actual' ->> 'fingerprint'
  FROM fencing.event WHERE kind = 'epoch_transition' ORDER BY id LIMIT 1;

-- What was bound to a session ended with its epoch, not with the session.
CREATE FUNCTION gone(pid int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. 1000 LOOP
        EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_get_activity(pid));
        PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
    END LOOP;
    RETURN NOT EXISTS (SELECT FROM pg_stat_get_activity(pid));
END
$$;
SELECT pg_backend_pid() AS pid, token AS bound FROM fencing.acquire('jobs', 'bound', 'x', bind_session => true) \gset
SELECT fencing.advance_epoch('with a bound session') > :opened;
\c
SET client_min_messages = warning;
SELECT gone(:pid), fencing.check_token(:bound);
SELECT state, ended_at FROM fencing.lease WHERE key = 'bound';
SELECT end_reason FROM fencing.term WHERE token = :bound;
SELECT status FROM fencing.acquire('jobs', 'bound', 'x');
SELECT end_reason, fencing.check_token(token) FROM fencing.term WHERE token = :bound;
