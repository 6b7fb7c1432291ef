-- What was passed over stays so, wherever somebody sets the sequence back to: nothing is granted there,
-- and lineage() says why.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

-- How far it passes over more than a number is random.
SELECT set_config('fencing.test_without', concat(current_setting('fencing.test_without', true), '+stride'), false) IS NOT NULL;
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE t (id int, fence bigint);
SELECT try($$SELECT fencing.protect('t', 'jobs', key => 'a', present_column => 'fence')$$);
CREATE FUNCTION look() RETURNS text LANGUAGE sql AS
    $$ SELECT a.status || ': ' || l.verdict FROM fencing.acquire('jobs', gen_random_uuid()::text, 'x') AS a, fencing.lineage() AS l $$;

-- Below where the epoch began, nothing was granted yet.
SELECT after_seq FROM fencing.epoch \gset
SELECT setval('fencing.term_seq', :after_seq - 1) IS NOT NULL;
SELECT look();
SELECT setval('fencing.term_seq', :after_seq) IS NOT NULL;
SELECT look();

-- A number that a lost history has issued: the write that presents it fails, its number is passed over.
SELECT take('first');
SELECT last_value AS first FROM fencing.term_seq \gset
INSERT INTO named SELECT 'lost', token('first') + 1000;
SELECT try('INSERT INTO t VALUES (1, {lost})');
SELECT last_value - :first FROM fencing.term_seq;
SELECT passed_over - :first FROM fencing.epoch;
-- Set back, to where the next one drawn would be that very number.
SELECT setval('fencing.term_seq', :first + 999) IS NOT NULL;
SELECT look();
ALTER SEQUENCE fencing.term_seq RESTART WITH 1;
SELECT look();
-- Nothing else is closed, and it is still nobody's token.
SELECT try('INSERT INTO t VALUES (1, {first})');
SELECT status FROM fencing.renew(token('first'));
-- One that is lower is passed over as well; the mark stays where it was.
SELECT setval('fencing.term_seq', :first) IS NOT NULL;
INSERT INTO named SELECT 'lower', token('first') + 10;
SELECT status FROM fencing.renew(token('lower'));
SELECT last_value - :first FROM fencing.term_seq;
SELECT passed_over - :first FROM fencing.epoch;
SELECT look();
-- In a session that has learnt nothing of it, and as far as to the mark.
\c -
SET client_min_messages = warning;
SELECT set_config('fencing.test_without', concat(current_setting('fencing.test_without', true), '+stride'), false) IS NOT NULL;
SELECT look();
SELECT setval('fencing.term_seq', :first + 999) IS NOT NULL;
SELECT look();
SELECT setval('fencing.term_seq', :first + 1000) IS NOT NULL;
SELECT look();
SELECT try('INSERT INTO t VALUES (1, {lost})', hints => false);

-- In a transaction that is rolled back, and sees its own mark.
SET fencing.acquire_in_block = on;
SELECT last_value AS second FROM fencing.term_seq \gset
INSERT INTO named SELECT 'again', token('first') - :first + :second + 1000;
BEGIN;
SELECT status FROM fencing.renew(token('again'));
SELECT setval('fencing.term_seq', :second + 10) IS NOT NULL;
SELECT look();
ROLLBACK;
SELECT look();
SELECT passed_over - :second FROM fencing.epoch;
SELECT setval('fencing.term_seq', :second + 1000) IS NOT NULL;
SELECT look();

-- What may have been lost with an unclean start.
ALTER TABLE fencing.clean_start DISABLE TRIGGER refuse_direct_write;
DELETE FROM fencing.clean_start;
ALTER TABLE fencing.clean_start ENABLE ALWAYS TRIGGER refuse_direct_write;
SELECT last_value AS third FROM fencing.term_seq \gset
SELECT take('after', 'c');
SELECT last_value - 1 AS passed_over, last_value > :third + (1 << 24) AS moved FROM fencing.term_seq \gset
SELECT :'moved', passed_over = :passed_over FROM fencing.epoch;
BEGIN;
SELECT take('taken back', 'd');
ROLLBACK;
SELECT setval('fencing.term_seq', :third) IS NOT NULL;
SELECT look();
SELECT setval('fencing.term_seq', :passed_over + 2) IS NOT NULL;

-- Each epoch has its own: it ends with the one before.
INSERT INTO named SELECT 'end', token('after') + (1 << 20);
SELECT status FROM fencing.renew(token('end'));
SELECT fencing.advance_epoch('settled') IS NOT NULL;
SELECT look();
SELECT passed_over, after_seq = last_value - 1 FROM fencing.epoch, fencing.term_seq ORDER BY epoch DESC LIMIT 1;
SELECT setval('fencing.term_seq', after_seq - 1) IS NOT NULL FROM fencing.epoch ORDER BY epoch DESC LIMIT 1;
SELECT look();
