-- Old-style inheritance: a parent's triggers don't fire for its children, so each has its own.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE parent (id int, v int);
CREATE TABLE child (extra text) INHERITS (parent);
CREATE TABLE grandchild () INHERITS (child);
INSERT INTO grandchild VALUES (1, 0);
SELECT try($$SELECT fencing.protect('parent', 'jobs', 'a')$$);
CREATE VIEW triggers AS SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger
    WHERE tgname ~ 'fencing' AND tgrelid::regclass::text !~ 'fencing[.]' ORDER BY tgrelid::regclass::text, tgname;
SELECT * FROM triggers;
SELECT take('old');
SELECT try('SELECT fencing.release({old})');
SELECT take('new');
-- Through the parent, and directly.
BEGIN; SELECT present('old'); SELECT try('UPDATE parent SET v = v + 1'); SELECT try('UPDATE ONLY grandchild SET v = v + 1'); SELECT try('TRUNCATE child'); ROLLBACK;
BEGIN; SELECT present('new'); SELECT try('UPDATE parent SET v = v + 1'); SELECT try('DELETE FROM child WHERE id = 2'); COMMIT;
SELECT * FROM parent;

-- A new child, and one that is adopted.
CREATE TABLE late () INHERITS (child);
CREATE TABLE adopted (v int, id int);
ALTER TABLE adopted INHERIT parent;
SELECT * FROM triggers WHERE tgrelid IN ('late'::regclass, 'adopted'::regclass);
SELECT try('INSERT INTO adopted VALUES (1)');
SELECT try('INSERT INTO late VALUES (1)');
-- One that leaves keeps its guard, which is then its own.
ALTER TABLE adopted NO INHERIT parent;
SELECT try('INSERT INTO adopted VALUES (1)');
SELECT try($$SELECT fencing.alter_guard('adopted', mode => 'observe')$$);
SELECT relation, mode FROM fencing.guards WHERE relation IN ('adopted'::regclass, 'parent'::regclass) ORDER BY 1;
SELECT try($$SELECT fencing.unprotect('adopted')$$);
-- One that joins with a guard of its own keeps that.
SELECT try($$SELECT fencing.protect('adopted', 'jobs', key => 'b')$$);
ALTER TABLE adopted INHERIT parent;
SELECT relation, key FROM fencing.guards WHERE relation IN ('adopted'::regclass, 'parent'::regclass) ORDER BY 1;

-- The guard is the parent's to change and to remove.
SELECT try($$SELECT fencing.alter_guard('late', mode => 'observe')$$);
SELECT try($$SELECT fencing.unprotect('late')$$);
SELECT try($$SELECT fencing.protect('late', 'jobs', 'b')$$);
SELECT try($$SELECT fencing.alter_guard('parent', key_columns => '{id}')$$);
SELECT relation, key, key_columns FROM fencing.guards ORDER BY relation::text;
SELECT * FROM triggers;
SELECT try($$SELECT fencing.unprotect('parent')$$);
SELECT * FROM triggers;
SELECT schema, name FROM fencing.guarded;

-- Not by statement, and not over a child that has a guard.
SELECT try($$SELECT fencing.protect('parent', 'jobs', 'a', level => 'statement')$$);
SELECT try($$SELECT fencing.protect('child', 'jobs', 'b')$$);
SELECT try($$SELECT fencing.protect('parent', 'jobs', 'a')$$);
