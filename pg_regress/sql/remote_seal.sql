-- seal: a new holder raises the fence before it reads; who may, and when.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set remote :abs_srcdir '/sql/include/remote.sql'
\i :remote
\set ECHO all

SELECT try($$SELECT fencing.register_coordinator('etcd', 'etcd', 'c1')$$), try('SELECT fencing.install_epoch(''etcd'', 5, id(1))');
CREATE TABLE doc (id int, fence bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', present_column => 'fence', fence => 'destination', coordinator => 'etcd')$$);
SELECT try('INSERT INTO doc VALUES (1, {5:1})');

SELECT fencing.seal('etcd', 'jobs', 'a', token('5:3'));
SELECT * FROM stored;
SELECT left(try('INSERT INTO doc VALUES (2, {5:2})'), 5), try('INSERT INTO doc VALUES (2, {5:3})');
-- Again, and once a newer one is there.
SELECT try($$SELECT fencing.seal('etcd', 'jobs', 'a', {5:3})$$);
SELECT try('INSERT INTO doc VALUES (3, {5:4})');
SELECT try($$SELECT fencing.seal('etcd', 'jobs', 'a', {5:3})$$);
-- As a guard says it.
SELECT try($$SELECT fencing.seal('etcd', 'jobs', 'a', {4:9})$$), try($$SELECT fencing.seal('etcd', 'jobs', 'a', {6:1})$$, hints => true);
SELECT try($$SELECT fencing.seal('etcd', 'jobs', 'a', 0)$$), try($$SELECT fencing.seal('etcd', 'jobs', 'a', -1)$$), try($$SELECT fencing.seal('etcd', 'jobs', 'a', 42)$$);
SELECT try($$SELECT fencing.seal('nobody', 'jobs', 'a', {5:5})$$);
SELECT try($$SELECT fencing.seal(NULL, 'jobs', 'a', {5:5})$$), try($$SELECT fencing.seal('etcd', NULL, 'a', {5:5})$$), try($$SELECT fencing.seal('etcd', 'jobs', NULL, {5:5})$$), try($$SELECT fencing.seal('etcd', 'jobs', 'a', NULL)$$);
SELECT try($$SELECT fencing.seal('etcd', '', 'a', {5:5})$$), try($$SELECT fencing.seal('etcd', 'jobs', '', {5:5})$$);
-- It presents nothing.
BEGIN;
SELECT try($$SELECT fencing.seal('etcd', 'jobs', 'a', {5:5})$$);
SELECT left(try('INSERT INTO doc VALUES (4)'), 5);
SELECT try('INSERT INTO doc VALUES (4, {5:5})');
-- Nor is it undone by anything but a rollback.
SELECT try($$SELECT fencing.seal('etcd', 'jobs', 'a', {5:6})$$);
SELECT * FROM stored;
ROLLBACK;
SELECT * FROM stored;

-- What is read after it must be what was there when it was made.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT try($$SELECT fencing.seal('etcd', 'jobs', 'a', {5:5})$$);
ROLLBACK;
SET default_transaction_isolation = serializable;
SELECT fencing.seal('etcd', 'jobs', 'a', token('5:5'));
SELECT left(try($$SELECT fencing.seal('etcd', 'jobs', 'a', {5:6})$$), 5);
RESET default_transaction_isolation;
SELECT * FROM stored;
BEGIN READ ONLY;
SELECT try($$SELECT fencing.seal('etcd', 'jobs', 'a', {5:6})$$);
ROLLBACK;

-- Whoever may write under the lease may seal it; nobody else, or it would be a way to lock others out.
CREATE TABLE task (id int, region text);
SELECT try($$SELECT fencing.protect('task', 'tasks', key_columns => '{region}', fence => 'destination', coordinator => 'etcd')$$);
CREATE TABLE watched (id int);
SELECT try($$SELECT fencing.protect('watched', 'watch', 'w', mode => 'observe', fence => 'destination', coordinator => 'etcd')$$);
CREATE ROLE regress_remote_anna;
CREATE FUNCTION may() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(k || ' ' || left(try(format('SELECT fencing.seal(''etcd'', %L, %L, {5:6})', split_part(k, '/', 1), split_part(k, '/', 2))), 5), ', ')
      FROM unnest(ARRAY['jobs/a', 'jobs/b', 'tasks/eu', 'watch/w', 'others/a']) AS k
$$;
GRANT SELECT ON doc, task, watched TO regress_remote_anna;
SET ROLE regress_remote_anna;
SELECT may();
SELECT try($$SELECT fencing.seal('etcd', 'jobs', 'a', {5:6})$$);
RESET ROLE;
GRANT INSERT ON doc, watched TO regress_remote_anna;
GRANT UPDATE (id) ON task TO regress_remote_anna;
SET ROLE regress_remote_anna;
SELECT may();
RESET ROLE;
SELECT may();
SELECT * FROM stored;
-- A function that may write may seal.
REVOKE ALL ON doc FROM regress_remote_anna;
CREATE FUNCTION definer() RETURNS text LANGUAGE sql SECURITY DEFINER AS $$SELECT try('SELECT fencing.seal(''etcd'', ''jobs'', ''a'', {5:7})')$$;
CREATE ROLE regress_remote_bert;
GRANT INSERT ON doc TO regress_remote_bert;
ALTER FUNCTION definer() OWNER TO regress_remote_bert;
SET ROLE regress_remote_anna;
SELECT definer();
RESET ROLE;
DROP FUNCTION definer;
DROP OWNED BY regress_remote_anna, regress_remote_bert;
DROP ROLE regress_remote_anna, regress_remote_bert;
