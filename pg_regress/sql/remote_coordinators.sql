-- Coordinators elsewhere: registered, with an epoch, dropped.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set remote :abs_srcdir '/sql/include/remote.sql'
\i :remote
\set ECHO all

CREATE FUNCTION show() RETURNS TABLE (name text, kind text, identity text, state text, epoch bigint, epoch_identity uuid, installed boolean)
    LANGUAGE sql AS $$SELECT c.name, c.kind, c.identity, c.state, c.epoch, c.epoch_identity, c.installed_at <= clock_timestamp() FROM fencing.coordinators() AS c$$;
SELECT try($$SELECT fencing.register_coordinator('etcd', 'etcd', 'cluster cdf818194e3a8c32')$$);
SELECT try($$SELECT fencing.register_coordinator('k8s', 'kubernetes', '')$$), try($$SELECT fencing.register_coordinator('k8s', 'kubernetes', E' \t')$$);
SELECT try($$SELECT fencing.register_coordinator('k8s', 'kubernetes', 'k')$$), try($$SELECT fencing.register_coordinator('zk', 'zookeeper', 'zk')$$);
SELECT try($$SELECT fencing.register_coordinator('pg', 'fencing', 'pg')$$), try($$SELECT fencing.register_coordinator('else', 'other', 'consul')$$);
SELECT * FROM show();

-- Not twice; no other kinds; names as namespaces have them.
SELECT try($$SELECT fencing.register_coordinator('etcd', 'etcd', 'another')$$);
SELECT try($$SELECT fencing.register_coordinator('consul', 'consul', 'c')$$);
SELECT try($$SELECT fencing.register_coordinator('E', 'etcd', 'c')$$);
SELECT try($$SELECT fencing.register_coordinator('', 'etcd', 'c')$$);
SELECT try($$SELECT fencing.register_coordinator('x', 'etcd', repeat('é', 513))$$);
SELECT try($$SELECT fencing.register_coordinator(NULL, 'etcd', 'c')$$), try($$SELECT fencing.register_coordinator('x', NULL, 'c')$$), try($$SELECT fencing.register_coordinator('x', 'etcd', NULL)$$);

-- An epoch: the first, and any newer one. The same again changes nothing.
SELECT try('SELECT fencing.install_epoch(''etcd'', 5, id(1))');
SELECT * FROM show() WHERE name = 'etcd';
CREATE TABLE before AS SELECT * FROM fencing.coordinator WHERE name = 'etcd';
SELECT try('SELECT fencing.install_epoch(''etcd'', 5, id(1))');
SELECT count(*) FROM fencing.coordinator AS c JOIN before AS b ON c = b;
SELECT try('SELECT fencing.install_epoch(''etcd'', 6, id(2))');
SELECT * FROM show() WHERE name = 'etcd';
-- Never a lower one, whatever its identity.
SELECT try('SELECT fencing.install_epoch(''etcd'', 5, id(1))', hints => true);
SELECT try('SELECT fencing.install_epoch(''etcd'', 5, id(3))');
-- The same with another identity closes the destination, and nothing but a newer one opens it.
SELECT fencing.install_epoch('etcd', 6, id(3));
SELECT * FROM show() WHERE name = 'etcd';
SELECT fencing.install_epoch('etcd', 6, id(2));
SELECT * FROM show() WHERE name = 'etcd';
SELECT try('SELECT fencing.install_epoch(''etcd'', 5, id(2))');
SELECT try('SELECT fencing.install_epoch(''etcd'', 7, id(3))');
SELECT * FROM show() WHERE name = 'etcd';
-- Numbers that no token can have; nonsense.
SELECT try('SELECT fencing.install_epoch(''k8s'', 0, id(1))'), try('SELECT fencing.install_epoch(''k8s'', -1, id(1))');
SELECT try('SELECT fencing.install_epoch(''k8s'', 16777216, id(1))'), try('SELECT fencing.install_epoch(''k8s'', 16777215, id(1))');
SELECT try('SELECT fencing.install_epoch(''nobody'', 1, id(1))');
SELECT try('SELECT fencing.install_epoch(NULL, 1, id(1))'), try('SELECT fencing.install_epoch(''etcd'', NULL, id(1))'), try('SELECT fencing.install_epoch(''etcd'', 8, NULL)');

-- Dropped, unless a guard names it; then nothing is left of it but the number of its last epoch.
CREATE TABLE doc (body text);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', fence => 'destination', coordinator => 'etcd')$$);
SELECT under('7:1', $$INSERT INTO doc VALUES ('1')$$);
SELECT * FROM stored;
SELECT try($$SELECT fencing.drop_coordinator('etcd')$$);
SELECT try($$SELECT fencing.unprotect('doc')$$);
SELECT try($$SELECT fencing.drop_coordinator('etcd')$$);
SELECT * FROM stored;
SELECT count(*) FROM fencing.remote_use;
SELECT * FROM show() WHERE name = 'etcd';
SELECT try($$SELECT fencing.drop_coordinator('etcd')$$), try($$SELECT fencing.drop_coordinator('never')$$), try($$SELECT fencing.drop_coordinator(NULL)$$);
SELECT try('SELECT fencing.install_epoch(''etcd'', 9, id(1))');
SELECT try($$SELECT fencing.register_coordinator('etcd', 'other', 'another')$$);
SELECT * FROM show() WHERE name = 'etcd';
SELECT try('SELECT fencing.install_epoch(''etcd'', 7, id(3))'), try('SELECT fencing.install_epoch(''etcd'', 7, id(4))');
SELECT try('SELECT fencing.install_epoch(''etcd'', 6, id(3))');
SELECT try('SELECT fencing.install_epoch(''etcd'', 8, id(3))');
SELECT * FROM show() WHERE name = 'etcd';

-- What happened.
SELECT kind, detail FROM fencing.event ORDER BY id;

-- For superusers and the epoch authority; everybody may see them.
CREATE ROLE regress_remote_anna;
SET ROLE regress_remote_anna;
SELECT try($$SELECT fencing.register_coordinator('x', 'etcd', 'c')$$);
SELECT left(try('SELECT fencing.install_epoch(''etcd'', 9, public.id(3))'), 5), left(try($$SELECT fencing.drop_coordinator('etcd')$$), 5), left(try($$SELECT fencing.purge_fences('etcd', '1 d')$$), 5);
SELECT name, state FROM fencing.coordinators();
RESET ROLE;
ALTER SYSTEM SET fencing.epoch_authority = 'regress_remote_anna';
SELECT FROM pg_reload_conf();
DO $$ BEGIN FOR n IN 1..100 LOOP EXIT WHEN current_setting('fencing.epoch_authority') <> ''; PERFORM pg_sleep(0.01); END LOOP; END $$;
\c -
SET ROLE regress_remote_anna;
SELECT FROM fencing.register_coordinator('annas', 'etcd', 'c');
SELECT FROM fencing.install_epoch('annas', 1, '00000000-0000-4000-8000-000000000001');
SELECT fencing.purge_fences('annas', '1 d');
SELECT FROM fencing.drop_coordinator('annas');
RESET ROLE;
ALTER SYSTEM RESET fencing.epoch_authority;
SELECT FROM pg_reload_conf();
DROP ROLE regress_remote_anna;
