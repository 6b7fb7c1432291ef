-- From one epoch to the next step by step: nothing is admitted, then every guarded table is blocked until
-- it is installed, proved and resumed.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
-- Writes under a token.
CREATE FUNCTION write(name text, statement text, hints boolean DEFAULT true) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF name IS NOT NULL THEN PERFORM fencing.present(token(name)); END IF;
    RETURN regexp_replace(try(statement, hints), 'epoch \d+', 'epoch <n>', 'g');
END
$$;
\set ECHO all
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE doc (k text, v text);
CREATE TABLE one (v text);
CREATE TABLE tree (k text, v text) PARTITION BY LIST (k);
CREATE TABLE tree_a PARTITION OF tree FOR VALUES IN ('a');
CREATE TABLE base (v text);
CREATE TABLE child () INHERITS (base);
CREATE TABLE bulk (v text);
CREATE TABLE watched (v text);
CREATE TABLE open (k text, v text);
CREATE TABLE plain (v text);
SELECT fencing.protect('doc', 'jobs', key_columns => '{k}'), fencing.protect('one', 'jobs', 'a'),
       fencing.protect('tree', 'jobs', key_columns => '{k}'), fencing.protect('base', 'jobs', 'a'),
       fencing.protect('bulk', 'jobs', 'a', level => 'statement'), fencing.protect('watched', 'jobs', 'a', mode => 'observe'),
       fencing.protect('open', 'jobs', key_columns => '{k}', on_missing => 'admit');
SELECT take('old');
INSERT INTO open VALUES ('a', 'without a token');

-- 1, 2: stop admitting. Repeated, it does nothing more.
SELECT fencing.begin_epoch_transition('a move');
SELECT epoch AS closing FROM fencing.epoch \gset
SELECT fencing.begin_epoch_transition('again');
SELECT state, (SELECT count(*) FROM fencing.event WHERE kind = 'epoch_transition') FROM fencing.epoch;
SELECT take('none'), fencing.check_token(token('old')), fencing.release(token('old'));
SELECT status FROM fencing.renew(token('old'));
SELECT state FROM fencing.inspect('jobs', 'a');
SELECT write('old', $$INSERT INTO doc VALUES ('a', 'closing')$$);
SELECT write(NULL, $$INSERT INTO open VALUES ('a', 'closing')$$);
SELECT write(NULL, $$TRUNCATE open$$);
SELECT write(NULL, $$TRUNCATE doc$$);
SELECT try('SELECT fencing.assert_current({old})');
SELECT verdict FROM fencing.lineage();
-- No step of what comes later.
SELECT try($$SELECT fencing.install_local('doc')$$), try($$SELECT fencing.prove_epoch('doc')$$), try($$SELECT fencing.resume('doc')$$);

-- 3, 4: the next epoch.
SELECT * FROM fencing.unresolved();
SELECT fencing.open_epoch('a move') AS opened \gset
SELECT :opened > :closing;
SELECT regexp_replace(try($$SELECT fencing.open_epoch('once more')$$), '\d+ is open', '<n> is open');
SELECT relation, epoch = :opened, state FROM fencing.installation ORDER BY relation::text COLLATE "C";
SELECT take('new');
SELECT fencing.check_token(token('old')), fencing.check_token(token('new'));
SELECT try('SELECT fencing.assert_current({new})');

SELECT verdict FROM fencing.lineage();

-- Every guarded table is blocked, however it is written to, and says what is next.
SELECT write('new', $$INSERT INTO doc VALUES ('a', 'blocked')$$);
SELECT write('new', $$INSERT INTO one VALUES ('blocked')$$, false), write('new', $$DELETE FROM one WHERE false$$, false);
SELECT write('new', $$INSERT INTO tree VALUES ('a', 'blocked')$$), write('new', $$INSERT INTO tree_a VALUES ('a', 'blocked')$$);
SELECT write('new', $$INSERT INTO child VALUES ('blocked')$$);
SELECT write('new', $$INSERT INTO bulk VALUES ('blocked')$$, false), write('new', $$TRUNCATE one$$, false);
SELECT write('new', $$INSERT INTO open VALUES ('a', 'blocked')$$, false);
SELECT write(NULL, $$INSERT INTO open VALUES ('a', 'blocked')$$, false), write(NULL, $$TRUNCATE open$$, false);
SELECT write('new', $$TRUNCATE doc$$, false);
SELECT write('old', $$INSERT INTO doc VALUES ('a', 'stale')$$, false);
-- What only observes, what is unguarded, and maintenance are not.
SELECT write('new', $$INSERT INTO watched VALUES ('passes')$$), write('new', $$INSERT INTO plain VALUES ('passes')$$);
BEGIN;
SELECT fencing.maintain('a test');
SELECT try($$INSERT INTO doc VALUES ('a', 'maintained')$$);
ROLLBACK;
-- Nothing is open about it.
SELECT relation, severity, gap FROM fencing.enforcement_gaps() WHERE severity = 'open' ORDER BY relation::text COLLATE "C", gap COLLATE "C";
-- The proof of a guard is no way round.
SELECT relation, verdict, detail FROM fencing.prove_guard('doc');

-- 5, 6, 7, in that order. What is done may be repeated.
SELECT regexp_replace(try($$SELECT fencing.resume('doc')$$), 'epoch \d+', 'epoch <n>'), regexp_replace(try($$SELECT fencing.prove_epoch('doc')$$), 'epoch \d+', 'epoch <n>');
SELECT fencing.install_local('doc');
SELECT fencing.install_local('doc');
SELECT write('new', $$INSERT INTO doc VALUES ('a', 'blocked')$$);
SELECT regexp_replace(try($$SELECT fencing.resume('doc')$$), 'epoch \d+', 'epoch <n>');
-- Nobody says of a proof that it was, where none was.
SELECT regexp_replace(try($$SELECT fencing.note_proof('doc', true)$$), 'epoch \d+', 'epoch <n>');
SELECT fencing.prove_epoch('doc');
SELECT fencing.prove_epoch('doc'), fencing.note_proof('doc', true);
SELECT fencing.install_local('doc');
SELECT state FROM fencing.installation WHERE relation = 'doc'::regclass;
SELECT write('new', $$INSERT INTO doc VALUES ('a', 'blocked')$$);
SELECT fencing.resume('doc');
SELECT fencing.resume('doc'), fencing.install_local('doc');
SELECT write('new', $$INSERT INTO doc VALUES ('a', 'resumed')$$), write('new', $$INSERT INTO one VALUES ('blocked')$$, false);
BEGIN;
SELECT write('old', $$INSERT INTO doc VALUES ('a', 'stale')$$, false);
ROLLBACK;

-- A tree is one; what joins it is blocked with it, and what leaves it stays blocked.
CREATE TABLE tree_b PARTITION OF tree FOR VALUES IN ('b');
SELECT take('b', 'b');
SELECT write('b', $$INSERT INTO tree_b VALUES ('b', 'blocked')$$);
SELECT try($$SELECT fencing.install_local('tree_a')$$);
ALTER TABLE tree DETACH PARTITION tree_a;
SELECT write('new', $$INSERT INTO tree_a VALUES ('a', 'blocked')$$);
ALTER TABLE tree ATTACH PARTITION tree_a FOR VALUES IN ('a');
-- Also one that came only later.
CREATE TABLE tree_c PARTITION OF tree FOR VALUES IN ('c') PARTITION BY LIST (v);
CREATE TABLE tree_cc PARTITION OF tree_c FOR VALUES IN ('c');
ALTER TABLE tree DETACH PARTITION tree_c;
SELECT take('c', 'c');
SELECT write('c', $$INSERT INTO tree_c VALUES ('c', 'c')$$), write('c', $$INSERT INTO tree_cc VALUES ('c', 'c')$$, false);
SELECT fencing.install_local('tree_c'), fencing.prove_epoch('tree_c'), fencing.resume('tree_c');
SELECT write('c', $$INSERT INTO tree_c VALUES ('c', 'c')$$);
SELECT fencing.install_local('tree');
SELECT fencing.prove_epoch('tree');
SELECT fencing.resume('tree');
SELECT write('new', $$INSERT INTO tree VALUES ('a', 'resumed')$$), write('b', $$INSERT INTO tree_b VALUES ('b', 'resumed')$$);
SELECT relation, state FROM fencing.installation ORDER BY relation::text COLLATE "C";

-- A guard that isn't whole is not installed, and what lets an older epoch pass is not proved.
ALTER TABLE one DISABLE TRIGGER ALL;
SELECT try($$SELECT fencing.install_local('one')$$);
SELECT fencing.alter_guard('one'), fencing.install_local('one');
ALTER TABLE one DISABLE TRIGGER ALL;
SELECT try($$SELECT fencing.prove_epoch('one')$$);
SELECT regexp_replace(try($$SELECT fencing.resume('one')$$), 'epoch \d+', 'epoch <n>');
SELECT fencing.alter_guard('one');
SELECT fencing.prove_epoch('one');
SELECT fencing.resume('one');
SELECT write('new', $$INSERT INTO one VALUES ('resumed')$$);

-- Without its guard a table is the owner's affair; with a guard again it is blocked again.
SELECT fencing.unprotect('bulk');
SELECT try($$SELECT fencing.resume('bulk')$$);
SELECT fencing.protect('bulk', 'jobs', 'a');
SELECT write('new', $$INSERT INTO bulk VALUES ('blocked')$$, false);
-- A table that is protected only now is in the new epoch.
SELECT fencing.protect('plain', 'jobs', 'a');
SELECT write('new', $$INSERT INTO plain VALUES ('passes')$$), fencing.prove_epoch('plain');
-- One that is dropped is forgotten.
DROP TABLE base CASCADE;
SELECT fencing.install_local('bulk'), fencing.install_local('open');
SELECT relation, state FROM fencing.installation ORDER BY relation::text COLLATE "C";
SELECT fencing.prove_epoch('bulk'), fencing.prove_epoch('open');
SELECT fencing.resume('bulk'), fencing.resume('open');
SELECT write(NULL, $$INSERT INTO open VALUES ('a', 'resumed')$$);
SELECT count(*) FROM fencing.installation;
SELECT verdict FROM fencing.lineage();

-- advance_epoch ends a transition that was begun step by step, and blocks nothing.
SELECT fencing.begin_epoch_transition('half');
SELECT fencing.advance_epoch('whole') > :opened;
SELECT count(*) FROM fencing.installation;
SELECT fencing.begin_epoch_transition('blocked');
SELECT fencing.open_epoch('blocked') IS NOT NULL;
SELECT count(*) FROM fencing.installation;
SELECT fencing.advance_epoch('unblocked') IS NOT NULL;
SELECT count(*) FROM fencing.installation;
SELECT take('newest');
SELECT write('newest', $$INSERT INTO doc VALUES ('a', 'newest')$$);

-- What is recorded.
SELECT kind, coalesce(detail ->> 'table', detail ->> 'reason') FROM fencing.event WHERE kind LIKE 'epoch%' ORDER BY id;
SELECT state, count(*) FROM fencing.epoch GROUP BY state ORDER BY state;
