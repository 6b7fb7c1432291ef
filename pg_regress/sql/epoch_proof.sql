-- What a proof is worth: a guard that was taken apart after it is proved anew; and tables that cannot be proved, or
-- have nothing to prove, say what helps.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
CREATE FUNCTION tried(statement text) RETURNS text LANGUAGE sql AS $$SELECT regexp_replace(try($1, true), 'epoch \d+', 'epoch <n>', 'g')$$;
\set ECHO all
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE g (id int);
CREATE TABLE bare (k text, v text) PARTITION BY LIST (k);
CREATE TABLE "Bare one" (k text, v text) PARTITION BY LIST (k);
CREATE TABLE deep (k text, v text) PARTITION BY LIST (k);
CREATE TABLE deep_a PARTITION OF deep FOR VALUES IN ('a');
CREATE TABLE deep_b PARTITION OF deep FOR VALUES IN ('b') PARTITION BY LIST (v);
CREATE TABLE raises (k text, v text);
CREATE FUNCTION raises() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'no rows today'; END$$;
CREATE TRIGGER a BEFORE INSERT ON raises FOR EACH ROW EXECUTE FUNCTION raises();
CREATE DOMAIN filled AS text NOT NULL;
CREATE TABLE domain (k text, v filled);
SELECT fencing.protect('g', 'jobs', 'a'), fencing.protect('bare', 'jobs', key_columns => '{k}'), fencing.protect('"Bare one"', 'jobs', 'a'),
       fencing.protect('deep', 'jobs', key_columns => '{k}'), fencing.protect('raises', 'jobs', key_columns => '{k}'),
       fencing.protect('domain', 'jobs', key_columns => '{k}');
SELECT take('old');
SELECT fencing.begin_epoch_transition('test');
SELECT fencing.open_epoch('test') > 0;
SELECT fencing.install_local(relation::regclass) FROM unnest(ARRAY['g', 'bare', '"Bare one"', 'deep', 'raises', 'domain']) AS relation;

-- Proved, and then taken apart.
SELECT fencing.prove_epoch('g');
ALTER TABLE g DISABLE TRIGGER ALL;
SELECT tried($$SELECT fencing.resume('g')$$);
SELECT state FROM fencing.installation WHERE relation = 'g'::regclass;
SELECT fencing.alter_guard('g');
SELECT fencing.resume('g');
SELECT count(*) FROM fencing.installation WHERE relation = 'g'::regclass;
-- Taken off and put on again: what was proved is another guard's.
SELECT fencing.prove_epoch('deep');
SELECT relation, state FROM fencing.installation WHERE relation::text LIKE 'deep%' ORDER BY relation::text COLLATE "C";
SELECT fencing.unprotect('deep');
SELECT fencing.protect('deep', 'jobs', key_columns => '{v}');
SELECT relation, state FROM fencing.installation WHERE relation::text LIKE 'deep%' ORDER BY relation::text COLLATE "C";
SELECT tried($$SELECT fencing.resume('deep')$$);
SELECT fencing.install_local('deep'), fencing.prove_epoch('deep'), fencing.resume('deep');

-- Nothing can be written to a table without a partition: nothing is to be proved. Those that come later are in
-- the new epoch.
SELECT * FROM fencing.prove_guard('bare');
SELECT fencing.prove_epoch('bare'), fencing.prove_epoch('"Bare one"');
CREATE TABLE bare_a PARTITION OF bare FOR VALUES IN ('a');
SELECT take('new');
SELECT left(tried($$DO 'BEGIN PERFORM fencing.present({new}); INSERT INTO bare VALUES (''a'', 1); END'$$), 5);
SELECT fencing.resume('bare'), fencing.resume('"Bare one"');
SELECT tried($$DO 'BEGIN PERFORM fencing.present({new}); INSERT INTO bare VALUES (''a'', 1); END'$$);
SELECT left(tried($$DO 'BEGIN PERFORM fencing.present({old}); INSERT INTO bare VALUES (''a'', 1); END'$$), 5);

-- What no INSERT gets to the guard of: one row, which a superuser may put there, or the next epoch for all.
SELECT tried($$SELECT fencing.prove_epoch('raises')$$);
SELECT tried($$SELECT fencing.prove_epoch('domain')$$);
BEGIN;
SELECT fencing.maintain('a row for the proof');
INSERT INTO domain VALUES ('a', 'filled');
COMMIT;
SELECT fencing.prove_epoch('domain'), fencing.resume('domain');
SELECT fencing.advance_epoch('raises') > 0;
SELECT count(*) FROM fencing.installation;

-- Who may prove: the owner, for the triggers run as the caller.
CREATE ROLE regress_epoch_berta;
ALTER SYSTEM SET fencing.epoch_authority = 'regress_epoch_berta';
SELECT FROM pg_reload_conf();
DO $$ BEGIN FOR n IN 1..100 LOOP EXIT WHEN current_setting('fencing.epoch_authority') <> ''; PERFORM pg_sleep(0.01); END LOOP; END $$;
\c -
SET ROLE regress_epoch_berta;
SELECT tried($$SELECT fencing.prove_epoch('g')$$);
SELECT tried($$SELECT fencing.prove_guard('g')$$);
RESET ROLE;
ALTER SYSTEM RESET fencing.epoch_authority;
SELECT FROM pg_reload_conf();
DROP ROLE regress_epoch_berta;
