-- alter_guard: a table comes under guard in three steps, and a guard is changed or mended in place.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT try($$SELECT fencing.create_namespace('other')$$);
CREATE TABLE task (id int PRIMARY KEY, owner text, fence bigint, written bigint);
INSERT INTO task VALUES (1, 'a');
SELECT take('current', 'a');

-- Three steps: warnings only; writers that present nothing pass, stale ones don't; everyone must present.
SELECT try($$SELECT fencing.protect('task', 'jobs', key_columns => '{owner}', mode => 'observe', on_missing => 'admit')$$);
SELECT try($$UPDATE task SET id = 1$$);
BEGIN; SELECT fencing.present(1); UPDATE task SET id = 1; COMMIT;
SELECT try($$SELECT fencing.alter_guard('task', mode => 'enforce')$$);
SELECT try($$UPDATE task SET id = 1$$);
BEGIN; SELECT fencing.present(1); SELECT try('UPDATE task SET id = 1'); COMMIT;
SELECT try($$SELECT fencing.alter_guard('task', on_missing => 'reject')$$);
SELECT try($$UPDATE task SET id = 1$$);
BEGIN; SELECT present('current'); SELECT try('UPDATE task SET id = 1'); COMMIT;

-- NULL keeps; each argument changes its own part.
CREATE VIEW guard AS SELECT namespace, key, key_columns, token_column, present_column, on_missing, mode, level FROM fencing.guards WHERE relation = 'task'::regclass;
SELECT try($$SELECT fencing.alter_guard('task')$$);
SELECT * FROM guard;
SELECT try($$SELECT fencing.alter_guard('task', token_column => 'written', present_column => 'fence')$$);
SELECT * FROM guard;
SELECT try($$UPDATE task SET fence = {current}$$);
SELECT id, fence, name_of(written) FROM task;
-- An empty name takes a column out.
SELECT try($$SELECT fencing.alter_guard('task', present_column => '')$$);
SELECT * FROM guard;
SELECT try($$SELECT fencing.alter_guard('task', token_column => '', namespace => 'other')$$);
SELECT * FROM guard;
-- Another key, another level: triggers come and go.
CREATE VIEW triggers AS SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE tgname ~ 'fencing' ORDER BY tgrelid::regclass::text, tgname;
SELECT * FROM triggers;
SELECT try($$SELECT fencing.alter_guard('task', key => 'whole', namespace => 'jobs')$$);
SELECT * FROM guard;
SELECT * FROM triggers;
SELECT try($$SELECT fencing.alter_guard('task', level => 'statement')$$);
SELECT * FROM triggers;
SELECT try($$UPDATE task SET id = 1$$);
SELECT try($$SELECT fencing.alter_guard('task', key_columns => '{owner}', level => 'row')$$);
SELECT * FROM triggers;
SELECT try($$UPDATE task SET id = 1$$);

-- With the table alone it mends.
SET client_min_messages = error;
ALTER TABLE task DISABLE TRIGGER ALL;
ALTER TABLE task ENABLE TRIGGER ALL;
DROP TRIGGER "~fencing_truncate" ON task;
ALTER TRIGGER "~fencing" ON task RENAME TO guard;
SET client_min_messages = warning;
SELECT * FROM triggers;
SELECT tgname FROM pg_trigger WHERE tgname = 'guard';
SELECT try($$SELECT fencing.alter_guard('task')$$);
SELECT * FROM triggers;
-- Nothing to mend, nothing done: the triggers are the same rows.
SELECT tgname, xmin AS before INTO mended FROM pg_trigger WHERE tgrelid = 'task'::regclass;
SELECT try($$SELECT fencing.alter_guard('task')$$);
SELECT count(*) FROM mended AS m JOIN pg_trigger AS t ON t.tgname = m.tgname AND t.xmin = m.before WHERE t.tgrelid = 'task'::regclass;

-- Errors change nothing.
SELECT try($$SELECT fencing.alter_guard(NULL)$$);
SELECT try($$SELECT fencing.alter_guard('named')$$);
SELECT try($$SELECT fencing.alter_guard('guard')$$);
SELECT try($$SELECT fencing.alter_guard('task', namespace => 'nowhere')$$);
SELECT try($$SELECT fencing.alter_guard('task', key => 'a', key_columns => '{owner}')$$);
SELECT try($$SELECT fencing.alter_guard('task', key_columns => '{}')$$);
SELECT try($$SELECT fencing.alter_guard('task', key_columns => '{nothing}')$$);
SELECT try($$SELECT fencing.alter_guard('task', present_column => 'owner')$$);
SELECT try($$SELECT fencing.alter_guard('task', present_column => 'written')$$);
SELECT try($$SELECT fencing.alter_guard('task', level => 'statement')$$);
SELECT try($$SELECT fencing.alter_guard('task', fence => 'destination')$$);
SELECT try($$SELECT fencing.alter_guard('task', coordinator => 'elsewhere')$$);
SELECT * FROM guard;

-- The owner's business, with administer on the namespace, before and after.
CREATE ROLE regress_alter_guard_ann;
CREATE ROLE regress_alter_guard_ben;
ALTER TABLE task OWNER TO regress_alter_guard_ann;
GRANT SELECT, INSERT ON named TO regress_alter_guard_ann;
SET ROLE regress_alter_guard_ben;
SELECT try($$SELECT fencing.alter_guard('task', mode => 'observe')$$);
SET ROLE regress_alter_guard_ann;
SELECT try($$SELECT fencing.alter_guard('task', mode => 'observe')$$);
RESET ROLE;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_alter_guard_ann', 'administer')$$);
SET ROLE regress_alter_guard_ann;
SELECT try($$SELECT fencing.alter_guard('task', mode => 'observe')$$);
SELECT try($$SELECT fencing.alter_guard('task', namespace => 'other')$$);
SELECT try($$SELECT fencing.alter_guard('task', mode => 'enforce')$$);
-- What was lent for it was taken back.
SELECT has_function_privilege('fencing.guard_row()', 'EXECUTE');
RESET ROLE;
SELECT * FROM guard;
DROP TABLE task CASCADE;
REVOKE ALL ON named FROM regress_alter_guard_ann;
DROP OWNED BY regress_alter_guard_ann;
DROP ROLE regress_alter_guard_ann, regress_alter_guard_ben;
