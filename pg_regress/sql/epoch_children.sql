-- What leaves a tree that is blocked stays blocked: a child that inherits no more, as a partition that is
-- detached.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE base (v text, fence bigint);
CREATE TABLE before () INHERITS (base);
CREATE TABLE other (v text, fence bigint);
CREATE TABLE above (v text);
SELECT fencing.protect('base', 'jobs', 'a', present_column => 'fence'), fencing.protect('other', 'jobs', 'a', present_column => 'fence');
CREATE FUNCTION write(relation text, OUT text) LANGUAGE sql AS $$
    SELECT regexp_replace(try(format('INSERT INTO %s VALUES (''x'', {new})', relation)), '^LF007 table "public\.(\w+)" is blocked.*', '\1 is blocked') $$;
CREATE VIEW blocked AS SELECT relation, state FROM fencing.installation ORDER BY relation::text COLLATE "C";
SELECT fencing.begin_epoch_transition('a move');
SELECT fencing.open_epoch('a move') IS NOT NULL;
SELECT take('new');
SELECT * FROM blocked;

-- Made now: blocked through the table above, and by itself once it has left that.
CREATE TABLE made () INHERITS (base);
CREATE TABLE below_made () INHERITS (made);
SELECT write('made'), write('below_made');
ALTER TABLE made NO INHERIT base;
SELECT write('made'), write('below_made');
SELECT * FROM blocked;
-- One that was there before is as it was.
ALTER TABLE before NO INHERIT base;
SELECT write('before');
-- Each is its own tree now, and unblocked as such.
SELECT fencing.install_local('made'), fencing.prove_epoch('made'), fencing.resume('made');
SELECT write('made'), write('below_made'), write('before');
-- Back, and away again in the same statement that gives it another parent.
ALTER TABLE made INHERIT base;
SELECT write('made');
ALTER TABLE made NO INHERIT base, INHERIT above;
SELECT write('made'), write('below_made');
-- From the middle of a tree, with all below it.
CREATE TABLE middle () INHERITS (base);
CREATE TABLE leaf () INHERITS (middle);
ALTER TABLE leaf NO INHERIT middle;
SELECT write('leaf');
-- A child of two trees leaves one of them: the other's steps unblock it.
CREATE TABLE pair () INHERITS (base, other);
SELECT fencing.install_local('other'), fencing.prove_epoch('other'), fencing.resume('other');
SELECT write('pair');
ALTER TABLE pair NO INHERIT base;
SELECT write('pair');
SELECT fencing.install_local('other'), fencing.prove_epoch('other'), fencing.resume('other');
SELECT write('pair');
-- A child of its own session alone has no guard to be blocked.
CREATE TEMP TABLE passing () INHERITS (base);
ALTER TABLE passing NO INHERIT base;
SELECT count(*) FROM fencing.installation WHERE relation = 'passing'::regclass;
-- What leaves a table that is not blocked is not.
CREATE TABLE late () INHERITS (other);
ALTER TABLE late NO INHERIT other;
SELECT write('late');
-- Rolled back, nothing has left.
CREATE TABLE stays () INHERITS (base);
BEGIN;
ALTER TABLE stays NO INHERIT base;
ROLLBACK;
SELECT * FROM blocked;
-- The steps of the whole unblock what is left below it.
SELECT fencing.install_local('base'), fencing.prove_epoch('base'), fencing.resume('base');
SELECT write('base'), write('stays'), write('made'), write('leaf');
SELECT fencing.advance_epoch('settled') IS NOT NULL;
SELECT * FROM blocked;
