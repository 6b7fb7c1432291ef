-- The errors of class LF that guards raise, each with what it says and advises.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (id int, fence bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', present_column => 'fence')$$);
SELECT take('old');
SELECT status FROM fencing.release(token('old'));
SELECT take('new');
SELECT take('other', 'b');

-- LF001 stale_term
SELECT try('INSERT INTO doc VALUES (1, {old})', hints => true);
-- LF002 missing_token
SELECT try('INSERT INTO doc VALUES (1)', hints => true);
-- LF003 term_ended
SET fencing.test_clock_offset = '31 s';
SELECT try('INSERT INTO doc VALUES (1, {new})', hints => true);
RESET fencing.test_clock_offset;
-- LF004 unknown_term
SELECT try('INSERT INTO doc VALUES (1, {other})', hints => true);
SELECT try('INSERT INTO doc VALUES (1, 9223372036854775807)');
SELECT try('INSERT INTO doc VALUES (1, 42)');
-- LF008 not_authorized_for_term
CREATE ROLE regress_errors_anna;
GRANT INSERT ON doc TO regress_errors_anna;
SET ROLE regress_errors_anna;
SELECT try('INSERT INTO doc VALUES (1, {new})', hints => true);
-- It comes before what became of the term: that is not theirs to know.
SELECT left(try('INSERT INTO doc VALUES (1, {old})'), 5);
RESET ROLE;
DROP OWNED BY regress_errors_anna;
DROP ROLE regress_errors_anna;
-- LF013 invalid_presentation
SELECT try('INSERT INTO doc VALUES (1, 0)', hints => true);
BEGIN;
SELECT present('new');
SELECT try('INSERT INTO doc VALUES (1, {old})', hints => true);
ROLLBACK;

-- LF005 epoch_mismatch: a later epoch has been opened.
SELECT fencing.advance_epoch('test') IS NOT NULL;
\c
SET client_min_messages = warning;
SELECT regexp_replace(try('INSERT INTO doc VALUES (1, {new})', hints => true), 'epoch \d+', 'epoch N');
SELECT left(try('INSERT INTO doc VALUES (1, {old})'), 5);
-- What presents nothing, or nothing of this lease, is told so first.
SELECT left(try('INSERT INTO doc VALUES (1)'), 5), left(try('INSERT INTO doc VALUES (1, {other})'), 5);
-- Terms of the new epoch are larger than any before.
SET fencing.test_clock_offset = '31 s';
SELECT take('next');
SELECT token('next') > token('new');
SELECT try('INSERT INTO doc VALUES (1, {next})');
SELECT left(try('INSERT INTO doc VALUES (1, {new})'), 5);
RESET fencing.test_clock_offset;

-- LF007 coordinator_closed: it comes before all else.
SELECT fencing.begin_epoch_transition('test');
\c
SET client_min_messages = warning;
SELECT try('INSERT INTO doc VALUES (1, {next})', hints => true);
SELECT left(try('INSERT INTO doc VALUES (1)'), 5), left(try('INSERT INTO doc VALUES (1, {other})'), 5);
SELECT left(try('SELECT fencing.assert_current({next})'), 5);
SELECT id, fence FROM doc;
