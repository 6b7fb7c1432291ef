-- Who may change an epoch, when, and with what arguments; numbers at their ends.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
CREATE FUNCTION tried(statement text) RETURNS text LANGUAGE sql AS $$SELECT regexp_replace(try($1, true), '\d{7,}', '<n>', 'g')$$;
\set ECHO all
-- Before the first epoch.
SELECT tried($$SELECT fencing.begin_epoch_transition('x')$$);
SELECT tried($$SELECT fencing.open_epoch('x')$$);
-- An epoch of long ago: ahead by more than a year, the clock is not believed, unless forced.
INSERT INTO fencing.epoch SELECT 100, gen_random_uuid(), '2025-01-01', 'restored', current_user::regrole, (l.actual ->> 'system_identifier')::bigint, (l.actual ->> 'timeline')::bigint,
    (l.actual ->> 'database')::oid, l.actual ->> 'fingerprint', (l.actual ->> 'lsn')::pg_lsn, 'open', 0 FROM fencing.lineage() AS l;
\c
SET client_min_messages = warning;
SELECT tried($$SELECT fencing.advance_epoch('x')$$);
SELECT tried($$SELECT fencing.begin_epoch_transition('x')$$);
SELECT tried($$SELECT fencing.open_epoch('x')$$);
SELECT epoch, state FROM fencing.epoch;
SELECT fencing.open_epoch('x', force => true) > 1000000;
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (v text);
CREATE TABLE plain (v text);
SELECT fencing.protect('doc', 'jobs', 'a');
SELECT take('a');

-- Arguments.
SELECT tried('SELECT fencing.advance_epoch(NULL)'), tried($$SELECT fencing.advance_epoch('x', NULL)$$), tried($$SELECT fencing.advance_epoch('x', force => NULL)$$);
SELECT tried('SELECT fencing.begin_epoch_transition(NULL)'), tried('SELECT fencing.open_epoch(NULL)');
SELECT tried($$SELECT fencing.advance_epoch(' ')$$);
SELECT tried($$SELECT fencing.begin_epoch_transition(repeat('x', 10000))$$);
SELECT tried('SELECT fencing.install_local(NULL)'), tried('SELECT fencing.prove_epoch(NULL)'), tried('SELECT fencing.resume(NULL)');
SELECT tried($$SELECT fencing.note_proof('doc', NULL)$$);
SELECT tried($$SELECT fencing.install_local('plain')$$), tried($$SELECT fencing.prove_epoch('plain')$$), tried($$SELECT fencing.resume('plain')$$);
SELECT tried($$SELECT fencing.resume('pg_class')$$), tried($$SELECT fencing.resume(1)$$);
-- A table that is not blocked: nothing is to be done.
SELECT fencing.install_local('doc'), fencing.resume('doc');
SELECT fencing.prove_epoch('doc');
SELECT kind FROM fencing.event WHERE kind LIKE 'epoch%' ORDER BY id;

-- Where nothing may be written.
BEGIN READ ONLY;
SELECT tried($$SELECT fencing.advance_epoch('x')$$);
SELECT left(tried($$SELECT fencing.begin_epoch_transition('x')$$), 5), left(tried($$SELECT fencing.open_epoch('x')$$), 5), left(tried($$SELECT fencing.resume('doc')$$), 5);
SELECT * FROM fencing.unresolved();
ROLLBACK;

-- Not by whoever holds a fence, which would have to wait for itself.
BEGIN;
SELECT present('a');
INSERT INTO doc VALUES ('written');
SELECT tried($$SELECT fencing.advance_epoch('x')$$);
SELECT left(tried($$SELECT fencing.begin_epoch_transition('x')$$), 5), left(tried($$SELECT fencing.open_epoch('x')$$), 5);
COMMIT;
BEGIN;
SELECT fencing.assert_current(token('a'));
SELECT left(tried($$SELECT fencing.advance_epoch('x')$$), 5);
ROLLBACK;
SET fencing.acquire_in_block = on;
BEGIN;
SELECT status FROM fencing.acquire('jobs', 'b', 'x');
SELECT left(tried($$SELECT fencing.advance_epoch('x')$$), 5);
ROLLBACK;
-- What was written in a savepoint that is rolled back holds none.
BEGIN;
SAVEPOINT s;
SELECT present('a');
INSERT INTO doc VALUES ('undone');
ROLLBACK TO s;
SELECT tried($$SELECT fencing.begin_epoch_transition('x')$$);
ROLLBACK;
SELECT state FROM fencing.epoch ORDER BY epoch DESC LIMIT 1;
-- Whoever has opened it may go on, and undo it.
BEGIN;
SAVEPOINT s;
SELECT fencing.advance_epoch('x') > 0;
SELECT take('in block');
ROLLBACK TO s;
SELECT fencing.check_token(token('a'));
ROLLBACK;
BEGIN;
SELECT fencing.advance_epoch('x') > 0;
SELECT take('in block');
SELECT present('in block');
INSERT INTO doc VALUES ('in block');
COMMIT;
SELECT fencing.check_token(token('a')), fencing.check_token(token('in block'));
-- Not prepared.
BEGIN;
SELECT fencing.advance_epoch('x') > 0;
PREPARE TRANSACTION 'regress_epoch';
\echo :LAST_ERROR_SQLSTATE :LAST_ERROR_MESSAGE
BEGIN;
SELECT fencing.resume('doc');
PREPARE TRANSACTION 'regress_epoch';
\echo :LAST_ERROR_SQLSTATE
RESET fencing.acquire_in_block;

-- For superusers; fencing.epoch_authority names nobody here.
CREATE ROLE regress_epoch_anna;
GRANT CREATE ON SCHEMA public TO regress_epoch_anna;
SELECT fencing.grant_namespace('jobs', 'regress_epoch_anna', 'administer');
SET ROLE regress_epoch_anna;
SELECT tried($$SELECT fencing.advance_epoch('x')$$);
SELECT left(tried($$SELECT fencing.begin_epoch_transition('x')$$), 5), left(tried($$SELECT fencing.open_epoch('x')$$), 5), left(tried('SELECT fencing.unresolved()'), 5);
SELECT left(tried($$SELECT fencing.install_local('doc')$$), 5), left(tried($$SELECT fencing.prove_epoch('doc')$$), 5), left(tried($$SELECT fencing.resume('doc')$$), 5), left(tried($$SELECT fencing.note_proof('doc', true)$$), 5);
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM regress_epoch_anna;
SELECT fencing.revoke_namespace('jobs', 'regress_epoch_anna', 'administer');
DROP ROLE regress_epoch_anna;

-- The clock: back, it stands.
SELECT max(epoch) AS before FROM fencing.epoch \gset
SET fencing.test_clock_offset = '-10 d';
SELECT fencing.advance_epoch('clock back') - :before;
SELECT opened_at >= (SELECT closed_at FROM fencing.epoch WHERE epoch = :before) FROM fencing.epoch ORDER BY epoch DESC LIMIT 1;
SET fencing.test_clock_offset = '12 d';
SELECT fencing.advance_epoch('clock ahead') - :before BETWEEN 12 * 24 * 60 - 10 AND 12 * 24 * 60;
RESET fencing.test_clock_offset;
-- Numbers at their ends. The sequence begins anew, in an epoch that comes first in the order.
SELECT fencing.advance_epoch('x') > 0;
SELECT take('before');
SELECT setval('fencing.term_seq', 549755813886) IS NOT NULL;
SELECT take('last', 'b');
SELECT fencing.acquire('jobs', 'c', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT fencing.advance_epoch('exhausted') > 0;
SELECT last_value BETWEEN 1 AND 1::bigint << 36 FROM fencing.term_seq;
SELECT take('after', 'b');
SELECT token('after') > token('last'), fencing.seq_of(token('after')) < fencing.seq_of(token('last'));
SELECT verdict FROM fencing.lineage();
-- Rolled back, it stands where it was.
SELECT setval('fencing.term_seq', 549755813887) IS NOT NULL;
BEGIN;
SELECT fencing.advance_epoch('undone') > 0;
ROLLBACK;
SELECT last_value FROM fencing.term_seq;
SELECT fencing.acquire('jobs', 'c', 'x');
\echo :LAST_ERROR_SQLSTATE
-- Nothing is drawn that a rollback would give back.
SET fencing.acquire_in_block = on;
BEGIN;
SELECT fencing.advance_epoch('undone') > 0;
SELECT tried($$SELECT fencing.acquire('jobs', 'c', 'x')$$);
ROLLBACK;
RESET fencing.acquire_in_block;
SELECT fencing.advance_epoch('exhausted') > 0;
SELECT take('again', 'c');
-- Where somebody has altered its end, that is told, and nothing else goes wrong.
ALTER SEQUENCE fencing.term_seq MAXVALUE 1000 RESTART 1000;
SELECT tried($$SELECT fencing.advance_epoch('x')$$);
ALTER SEQUENCE fencing.term_seq MAXVALUE 549755813887 RESTART 549755813000;
DO $$ BEGIN EXECUTE format('ALTER SEQUENCE fencing.term_seq MAXVALUE %s', (SELECT last_value + 10 FROM fencing.term_seq)); END $$;
SELECT fencing.advance_epoch('x') > 0;
SELECT take('within', 'd');
DO $$ BEGIN EXECUTE format('ALTER SEQUENCE fencing.term_seq MAXVALUE %s', (SELECT last_value + 1 FROM fencing.term_seq)); END $$;
SELECT status FROM fencing.renew(token('within') + 2);
SET fencing.acquire_in_block = on;
SELECT tried($$SELECT fencing.acquire('jobs', 'e', 'x')$$);
RESET fencing.acquire_in_block;
ALTER SEQUENCE fencing.term_seq MAXVALUE 549755813887;
SELECT take('beyond', 'e');
SELECT token('beyond') - token('within');
-- No epoch follows the last one.
INSERT INTO fencing.epoch SELECT 16777215, gen_random_uuid(), opened_at, 'restored', opened_by, system_identifier, timeline, database, fingerprint, lsn, 'open', after_seq FROM fencing.epoch ORDER BY epoch DESC LIMIT 1;
\c
SET client_min_messages = warning;
SELECT tried($$SELECT fencing.advance_epoch('x')$$);
SELECT epoch, state FROM fencing.epoch ORDER BY epoch DESC LIMIT 1;
