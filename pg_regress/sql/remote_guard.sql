-- Guards of a coordinator elsewhere have everything that other guards have.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set remote :abs_srcdir '/sql/include/remote.sql'
\i :remote
\set ECHO all

SELECT try($$SELECT fencing.register_coordinator('etcd', 'etcd', 'c1')$$), try('SELECT fencing.install_epoch(''etcd'', 5, id(1))');
CREATE TABLE doc (id int, body text, fence bigint, written bigint);
CREATE VIEW guards AS SELECT relation, namespace, key, key_columns, fence, coordinator, on_missing, mode, level FROM fencing.guards;

-- What is refused: no coordinator, none of that name, names that can't be.
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', fence => 'destination')$$);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', coordinator => 'etcd')$$);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', fence => 'lease', coordinator => 'etcd')$$);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', fence => 'destination', coordinator => 'zk')$$);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', fence => 'destination', coordinator => 'No!')$$);
SELECT try($$SELECT fencing.protect('doc', '', 'a', fence => 'destination', coordinator => 'etcd')$$);
SELECT try($$SELECT fencing.protect('doc', NULL, 'a', fence => 'destination', coordinator => 'etcd')$$);
SELECT try($$SELECT fencing.protect('doc', 'jobs', '', fence => 'destination', coordinator => 'etcd')$$);
SELECT try($$SELECT fencing.protect('doc', 'jobs', fence => 'destination', coordinator => 'etcd')$$);
SELECT * FROM guards;

SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', fence => 'destination', coordinator => 'etcd')$$);
SELECT * FROM guards;
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', fence => 'destination', coordinator => 'etcd')$$);
SELECT relation, gap, severity, detail FROM fencing.enforcement_gaps();
SELECT verdict, detail FROM fencing.prove_guard('doc');
SELECT under('5:3', $$INSERT INTO doc VALUES (1, 'one')$$);
SELECT verdict, detail FROM fencing.prove_guard('doc');
SELECT * FROM stored;

-- Changed in place: another coordinator, a lease of this database, and back.
SELECT try($$SELECT fencing.register_coordinator('zk', 'zookeeper', 'z1')$$), try('SELECT fencing.install_epoch(''zk'', 6, id(2))');
SELECT try($$SELECT fencing.alter_guard('doc', coordinator => 'zk', present_column => 'fence')$$);
SELECT * FROM guards;
SELECT try($$INSERT INTO doc VALUES (2, 'two', {6:1})$$);
SELECT try($$SELECT fencing.alter_guard('doc', coordinator => 'nobody')$$);
SELECT try($$SELECT fencing.alter_guard('doc', fence => 'lease')$$);
SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT try($$SELECT fencing.alter_guard('doc', fence => 'lease', coordinator => 'zk')$$);
SELECT try($$SELECT fencing.alter_guard('doc', fence => 'lease')$$);
SELECT * FROM guards;
SELECT left(try($$INSERT INTO doc VALUES (2, 'two', {6:1})$$), 5);
SELECT try($$SELECT fencing.alter_guard('doc', coordinator => 'etcd')$$);
SELECT try($$SELECT fencing.alter_guard('doc', fence => 'destination')$$);
SELECT try($$SELECT fencing.alter_guard('doc', fence => 'destination', coordinator => 'etcd')$$);
SELECT * FROM guards;
-- Keeps what isn't named.
SELECT try($$SELECT fencing.alter_guard('doc', token_column => 'written')$$), try($$SELECT fencing.alter_guard('doc')$$);
SELECT * FROM guards;

-- admit, observe, by statement.
SELECT try($$SELECT fencing.alter_guard('doc', on_missing => 'admit')$$);
SELECT try($$INSERT INTO doc VALUES (3, 'admitted')$$), try($$INSERT INTO doc VALUES (3, 'stale', {5:1})$$);
SELECT relation, gap, severity FROM fencing.enforcement_gaps();
SELECT try($$SELECT fencing.alter_guard('doc', on_missing => 'reject', mode => 'observe')$$);
INSERT INTO doc VALUES (4, 'observed');
INSERT INTO doc SELECT 4, 'stale', token('5:1');
INSERT INTO doc SELECT 4, 'unknown', token('6:1');
INSERT INTO doc SELECT 4, 'newer', token('5:9');
SELECT kind, detail ->> 'sqlstate' FROM fencing.event WHERE kind = 'observed' ORDER BY id;
-- Observing advances nothing.
SELECT * FROM stored;
SELECT relation, gap, severity FROM fencing.enforcement_gaps();
SELECT try($$SELECT fencing.alter_guard('doc', mode => 'enforce')$$);
SELECT id, body, name_of(written) FROM doc ORDER BY id, body;
CREATE TABLE bulk (id int);
SELECT try($$SELECT fencing.protect('bulk', 'jobs', 'a', level => 'statement', fence => 'destination', coordinator => 'etcd')$$);
SELECT try('INSERT INTO bulk VALUES (1)');
SELECT under('5:3', 'INSERT INTO bulk SELECT generate_series(1, 1000)');
SELECT under('5:2', 'INSERT INTO bulk VALUES (1)');
SELECT verdict, detail FROM fencing.prove_guard('bulk');

-- Maintenance passes.
BEGIN;
SELECT fencing.maintain('repair');
INSERT INTO doc VALUES (5, 'repaired', 1);
COMMIT;
SELECT id, body, fence, written FROM doc WHERE id = 5;

-- Partitions and children, renamed columns.
CREATE TABLE part (id int, region text, fence bigint) PARTITION BY LIST (id);
CREATE TABLE part1 PARTITION OF part FOR VALUES IN (1);
SELECT try($$SELECT fencing.protect('part', 'parts', key_columns => '{region}', present_column => 'fence', fence => 'destination', coordinator => 'etcd')$$);
CREATE TABLE part2 PARTITION OF part FOR VALUES IN (2);
ALTER TABLE part RENAME region TO place;
SELECT * FROM guards WHERE namespace = 'parts';
SELECT try($$INSERT INTO part VALUES (1, 'x', {5:1}), (2, 'x', {5:1})$$), try('TRUNCATE part2'), try('DELETE FROM part2');
SELECT relation, verdict FROM fencing.prove_guard('part');
SELECT relation, gap, severity, detail FROM fencing.enforcement_gaps();

-- Gaps: triggers that are gone, that say something else, a coordinator that is gone.
SET client_min_messages = error;
ALTER TABLE doc DISABLE TRIGGER "~fencing";
SELECT relation, gap, severity, detail, remedy FROM fencing.enforcement_gaps();
SELECT try(remedy) FROM fencing.enforcement_gaps();
DROP TRIGGER "~fencing" ON doc;
DROP TRIGGER "~fencing_statement" ON doc;
DROP TRIGGER "~fencing_truncate" ON doc;
SELECT relation, gap, severity, remedy FROM fencing.enforcement_gaps();
SELECT try(remedy) FROM fencing.enforcement_gaps();
SELECT * FROM guards WHERE relation = 'doc'::regclass;
DROP TRIGGER "~fencing" ON doc;
CREATE TRIGGER "~fencing" BEFORE INSERT OR UPDATE OR DELETE ON doc FOR EACH ROW
    EXECUTE FUNCTION fencing.guard_row('namespace=jobs', 'fence=destination', 'coordinator=zk', 'key=a', 'token_column=written', 'present_column=fence');
ALTER TABLE doc ENABLE ALWAYS TRIGGER "~fencing";
SELECT relation, gap, severity, detail, remedy FROM fencing.enforcement_gaps();
SELECT try(remedy) FROM fencing.enforcement_gaps();
SELECT relation, gap, severity, detail, remedy FROM fencing.enforcement_gaps();
-- It takes force to get there.
CREATE TABLE orphan (id int);
CREATE TRIGGER "~fencing" BEFORE INSERT OR UPDATE OR DELETE ON orphan FOR EACH ROW EXECUTE FUNCTION fencing.guard_row('namespace=jobs', 'fence=destination', 'coordinator=gone', 'key=a', 'on_missing=admit');
SELECT try('INSERT INTO orphan VALUES (1)');
SELECT relation, gap, severity, detail, remedy FROM fencing.enforcement_gaps() WHERE gap = 'missing_coordinator';
SELECT try($$SELECT fencing.unprotect('orphan')$$);
-- Arguments that name no coordinator are no guard: nothing passes.
CREATE TRIGGER "~fencing" BEFORE INSERT ON orphan FOR EACH ROW EXECUTE FUNCTION fencing.guard_row('namespace=jobs', 'fence=destination', 'key=a');
SELECT left(try('INSERT INTO orphan VALUES (1)'), 5);
-- Closed is no gap: it lets nothing pass.
DROP TABLE orphan;
SELECT fencing.install_epoch('etcd', 5, id(2));
SELECT relation, gap, severity FROM fencing.enforcement_gaps();
SELECT relation, verdict, detail FROM fencing.prove_guard('doc');

-- The rights: the table's ownership, and the epoch authority.
CREATE ROLE regress_remote_anna;
GRANT CREATE ON SCHEMA public TO regress_remote_anna;
SET ROLE regress_remote_anna;
CREATE TABLE annas (id int);
SELECT try($$SELECT fencing.protect('annas', 'jobs', 'a', fence => 'destination', coordinator => 'etcd')$$);
RESET ROLE;
SELECT try($$SELECT fencing.protect('annas', 'jobs', 'a', fence => 'destination', coordinator => 'etcd')$$);
SET ROLE regress_remote_anna;
SELECT left(try($$SELECT fencing.alter_guard('annas', mode => 'observe')$$), 5), left(try($$SELECT fencing.unprotect('annas')$$), 5), left(try($$SELECT fencing.protect('doc', 'jobs', 'a', fence => 'destination', coordinator => 'etcd')$$), 5);
RESET ROLE;
DROP OWNED BY regress_remote_anna;
DROP ROLE regress_remote_anna;
