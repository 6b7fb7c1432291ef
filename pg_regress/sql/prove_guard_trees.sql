-- prove_guard on partitioned tables and inheritance: each table has its own verdict.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
SET client_min_messages = error; -- what the DDL watch says is its own test's
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('held');

-- Without a row: the row is made to fit the partitions' bounds, whatever they are.
CREATE TABLE parted (id int NOT NULL, at date NOT NULL, body text, PRIMARY KEY (id, at, body)) PARTITION BY RANGE (at);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO ('2025-01-01') PARTITION BY LIST (body);
CREATE TABLE parted_1_a PARTITION OF parted_1 FOR VALUES IN ('it''s, (a)', 'b');
CREATE TABLE parted_1_d PARTITION OF parted_1 DEFAULT;
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('2025-01-01') TO (MAXVALUE) PARTITION BY HASH (id);
CREATE TABLE parted_2_0 PARTITION OF parted_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_2_1 PARTITION OF parted_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT * FROM fencing.prove_guard('parted');
SELECT try($$SELECT fencing.protect('parted', 'jobs', key_columns => '{id}')$$);
SELECT * FROM fencing.prove_guard('parted');
SELECT relation, verdict FROM fencing.prove_guard('parted_2');
SELECT relation, verdict FROM fencing.prove_guard('parted_1_a');
ALTER TABLE parted_1_a DISABLE TRIGGER "~fencing";
SELECT relation, verdict, detail FROM fencing.prove_guard('parted') WHERE verdict <> 'rejected';
SELECT try($$SELECT fencing.alter_guard('parted', key => 'a')$$);
SELECT * FROM fencing.prove_guard('parted');
-- One lease for all: the row triggers, and each table's own statement trigger.
ALTER TABLE parted_2_1 DISABLE TRIGGER "~fencing";
ALTER TABLE parted_1_d DISABLE TRIGGER "~fencing_statement";
DROP TRIGGER "~fencing_statement" ON parted;
SELECT relation, verdict, detail FROM fencing.prove_guard('parted') WHERE verdict <> 'rejected';
-- With rows.
SELECT try($$SELECT fencing.alter_guard('parted')$$);
SELECT try($$SELECT fencing.alter_guard('parted', on_missing => 'admit')$$);
INSERT INTO parted VALUES (1, '2024-01-01', 'b'), (1, '2026-01-01', 'b'), (2, '2026-01-01', 'b');
SELECT try($$SELECT fencing.alter_guard('parted', on_missing => 'reject')$$);
SELECT relation, verdict FROM fencing.prove_guard('parted');
-- A new partition that nobody completed is the only one that a stale row gets into.
ALTER EVENT TRIGGER fencing_watch_ddl DISABLE;
CREATE TABLE late (LIKE parted INCLUDING INDEXES);
ALTER TABLE parted ATTACH PARTITION late DEFAULT;
ALTER EVENT TRIGGER fencing_watch_ddl ENABLE ALWAYS;
SELECT relation, verdict, detail FROM fencing.prove_guard('parted') WHERE verdict <> 'rejected';
ALTER TABLE parted DISABLE TRIGGER "~fencing";
SELECT relation, verdict FROM fencing.prove_guard('parted');
DROP TABLE parted;
-- No partition at all, or none that a row could be made for.
CREATE TABLE parted (id int) PARTITION BY LIST (id);
SELECT try($$SELECT fencing.protect('parted', 'jobs', key_columns => '{id}')$$);
SELECT * FROM fencing.prove_guard('parted');
DROP TABLE parted;
CREATE TABLE parted (id int) PARTITION BY LIST ((id * 10));
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (50);
SELECT try($$SELECT fencing.protect('parted', 'jobs', key_columns => '{id}')$$);
SELECT * FROM fencing.prove_guard('parted');
DROP TABLE parted;

-- Inheritance.
CREATE TABLE parent (id int, body text);
CREATE TABLE child (extra int) INHERITS (parent);
INSERT INTO child VALUES (1, 'b', 2);
SELECT try($$SELECT fencing.protect('parent', 'jobs', 'a')$$);
CREATE TABLE grandchild () INHERITS (child);
SELECT * FROM fencing.prove_guard('parent');
DROP TRIGGER "~fencing_own" ON child;
SELECT * FROM fencing.prove_guard('parent');
SELECT try($$SELECT fencing.alter_guard('parent', key_columns => '{id}')$$);
SELECT * FROM fencing.prove_guard('parent');
DROP TABLE parent CASCADE;

-- By statement, and then a way through a parent: the table's own triggers don't see it.
CREATE TABLE bulk (id int);
CREATE TABLE heir (id int);
SELECT try($$SELECT fencing.protect('bulk', 'jobs', 'a', level => 'statement')$$);
SELECT try($$SELECT fencing.protect('heir', 'jobs', 'a', level => 'statement')$$);
CREATE TABLE parted (id int) PARTITION BY LIST (id);
ALTER TABLE parted ATTACH PARTITION bulk FOR VALUES IN (3);
CREATE TABLE parent (id int);
ALTER TABLE heir INHERIT parent;
SELECT * FROM fencing.prove_guard('bulk');
SELECT * FROM fencing.prove_guard('parted');
SELECT * FROM fencing.prove_guard('heir');
BEGIN; SELECT present('held'); SELECT try('INSERT INTO bulk VALUES (3)'), try('INSERT INTO heir VALUES (3)'); COMMIT;
SELECT * FROM fencing.prove_guard('bulk');
SELECT * FROM fencing.prove_guard('heir');
SELECT try($$SELECT fencing.alter_guard('bulk', level => 'row')$$);
SELECT try($$SELECT fencing.alter_guard('heir', level => 'row')$$);
SELECT * FROM fencing.prove_guard('bulk');
SELECT * FROM fencing.prove_guard('heir');
