-- Whose lease a token is presented for: local and remote are separate worlds, and so are two coordinators.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set remote :abs_srcdir '/sql/include/remote.sql'
\i :remote
\set ECHO all

SELECT try($$SELECT fencing.register_coordinator('etcd', 'etcd', 'c1')$$), try('SELECT fencing.install_epoch(''etcd'', 5, id(1))');
SELECT try($$SELECT fencing.register_coordinator('zk', 'zookeeper', 'z1')$$), try('SELECT fencing.install_epoch(''zk'', 6, id(2))');
CREATE TABLE here (id int);
CREATE TABLE there (id int);
CREATE TABLE elsewhere (id int);
CREATE TABLE line (id int, fence bigint);
SELECT try($$SELECT fencing.protect('there', 'jobs', 'a', fence => 'destination', coordinator => 'etcd')$$);
SELECT try($$SELECT fencing.protect('elsewhere', 'jobs', 'a', fence => 'destination', coordinator => 'zk')$$);
SELECT try($$SELECT fencing.protect('line', 'jobs', 'a', present_column => 'fence', fence => 'destination', coordinator => 'zk')$$);
-- One after the other: who comes first takes a name.
CREATE FUNCTION writable() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    t text;
    said text[];
BEGIN
    FOREACH t IN ARRAY ARRAY['here', 'there', 'elsewhere'] LOOP
        said := said || concat(t, ' ', left(try(format('INSERT INTO %I VALUES (1)', t)), 5));
    END LOOP;
    RETURN (SELECT string_agg(s, ', ' ORDER BY s) FROM unnest(said) AS s);
END
$$;

-- The namespace need not exist here, nor look like one.
BEGIN;
SELECT present('5:1', 'a');
SELECT writable();
COMMIT;
SELECT * FROM stored;
CREATE TABLE odd (id int);
SELECT try($$SELECT fencing.protect('odd', '/locks/Über = all', 'a=b', fence => 'destination', coordinator => 'zk')$$);
SELECT under('6:1', 'INSERT INTO odd VALUES (1)', 'a=b', '/locks/Über = all');
SELECT namespace, key FROM fencing.guards WHERE relation = 'odd'::regclass;

-- The same name for a namespace of this database.
SELECT try($$SELECT fencing.create_namespace('jobs')$$), take('a'), take('b', 'b');
SELECT try($$SELECT fencing.protect('here', 'jobs', 'a')$$);
-- A token that is presented plainly counts for the lease here alone.
BEGIN;
SELECT present('a');
SELECT writable();
COMMIT;
-- By name, it is asked of both; only one of them knows it.
BEGIN;
SELECT present('a', 'a');
SELECT writable();
SELECT try('INSERT INTO there VALUES (1)');
COMMIT;
BEGIN;
SELECT present('5:2', 'a');
SELECT writable();
SELECT try('INSERT INTO here VALUES (1)');
COMMIT;
-- One token for a name: a lease of another coordinator takes its own inline.
BEGIN;
SELECT present('a');
SELECT try($$SELECT fencing.present('jobs', 'a', {5:2})$$);
SELECT try('INSERT INTO line VALUES (1, {6:1})');
SELECT writable();
COMMIT;
SELECT * FROM stored;
-- A token that names a lease here, as another's.
BEGIN;
SELECT present('b', 'a');
SELECT writable();
COMMIT;
-- Made or dropped in between, the namespace here changes nothing for the one there.
BEGIN;
SELECT present('5:2', 'a', 'more');
SELECT try($$SELECT fencing.create_namespace('more')$$);
CREATE TABLE more (id int);
SELECT try($$SELECT fencing.protect('more', 'more', 'a', fence => 'destination', coordinator => 'etcd')$$);
SELECT try('INSERT INTO more VALUES (1)');
ROLLBACK;
-- A coordinator may well be this very database.
SELECT try($$SELECT fencing.register_coordinator('self', 'fencing', 'here')$$);
SELECT try(format('SELECT fencing.install_epoch(''self'', %s, %L)', epoch, identity)) FROM fencing.epoch;
CREATE TABLE own (id int);
SELECT try($$SELECT fencing.protect('own', 'jobs', 'a', fence => 'destination', coordinator => 'self')$$);
SELECT under('a', 'INSERT INTO own VALUES (1)');
SELECT status FROM fencing.release(token('a'));
SELECT take('next');
SELECT under('next', 'INSERT INTO own VALUES (2)');
SELECT under('a', 'INSERT INTO own VALUES (3)');
-- Dropping the namespace asks for the guards of its own leases alone.
SELECT try('SELECT fencing.release({next})'), try('SELECT fencing.release({b})');
SELECT try($$SELECT fencing.drop_namespace('jobs')$$);
SELECT try($$SELECT fencing.unprotect('here')$$), try($$SELECT fencing.drop_namespace('jobs')$$);
SELECT under('5:3', 'INSERT INTO there VALUES (2)');
