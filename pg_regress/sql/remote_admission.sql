-- A guard of a coordinator elsewhere: what passes, what doesn't, and what is stored.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set remote :abs_srcdir '/sql/include/remote.sql'
\i :remote
\set ECHO all

SELECT try($$SELECT fencing.register_coordinator('etcd', 'etcd', 'c1')$$);
CREATE TABLE doc (id int, body text, written bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', token_column => 'written', fence => 'destination', coordinator => 'etcd')$$);
CREATE FUNCTION show() RETURNS TABLE (id int, body text, written text) LANGUAGE sql AS 'SELECT id, body, name_of(written) FROM doc ORDER BY id';
\set insert '$$INSERT INTO doc VALUES (1)$$'

-- No epoch yet: all are unknown.
SELECT under('5:1', :insert);
SELECT try(:insert, hints => true);
SELECT try('SELECT fencing.install_epoch(''etcd'', 5, id(1))');

-- In the order of the rules: nothing, tokens but none for this lease, another epoch, stale.
SELECT try(:insert, hints => true);
BEGIN;
SELECT present('5:3');
SELECT try(:insert, hints => true);
SELECT present('5:3', 'b');
SELECT try(:insert);
SELECT present('5:3', 'a', 'jobs2');
SELECT left(try(:insert), 5);
ROLLBACK;
BEGIN;
SELECT try($$SELECT fencing.present('jobs', 'a', 42)$$);
SELECT try(:insert);
ROLLBACK;
SELECT under('4:3', :insert), under('6:3', :insert);
SELECT * FROM stored;

-- The first token is accepted, whatever it is; from then on the same or a newer one.
SELECT under('5:3', $$INSERT INTO doc VALUES (1, 'first')$$);
SELECT * FROM stored;
SELECT under('5:2', :insert);
SELECT under('5:3', $$INSERT INTO doc VALUES (2, 'same')$$);
SELECT * FROM stored;
SELECT under('5:7', $$UPDATE doc SET body = 'newer' WHERE id = 2$$);
SELECT * FROM stored;
SELECT under('5:3', :insert);
SELECT under('5:3', $$UPDATE doc SET body = 'stale'$$), under('5:3', $$DELETE FROM doc WHERE false$$), under('5:3', 'TRUNCATE doc');
SELECT * FROM show();
-- Rejected, it has advanced nothing.
SELECT under('6:9', :insert), under('5:1', :insert);
SELECT * FROM stored;

-- The next epoch: every older token is void, and any of the new one is newer.
SELECT try('SELECT fencing.install_epoch(''etcd'', 6, id(2))');
SELECT under('5:7', :insert), under('5:9', :insert);
SELECT under('6:1', $$DELETE FROM doc WHERE id = 1$$);
SELECT * FROM stored;
-- Two identities: closed, whatever is presented; also to who would be admitted.
SET client_min_messages = error;
SELECT fencing.install_epoch('etcd', 6, id(1));
RESET client_min_messages;
SELECT under('6:1', :insert);
SELECT try(:insert, hints => true);
SELECT try('SELECT fencing.install_epoch(''etcd'', 7, id(1))');
SELECT under('6:1', :insert), under('7:1', $$TRUNCATE doc$$);
SELECT * FROM show();

-- Two tokens for one lease are a contradiction; so is a newer one after the transaction wrote under another.
BEGIN;
SELECT present('7:2', 'a');
SELECT try($$SELECT fencing.present('jobs', 'a', {7:3})$$);
SELECT try(:insert);
SAVEPOINT s;
SELECT try($$SELECT fencing.present('jobs', 'a', {7:3})$$);
ROLLBACK;
SELECT * FROM stored;

-- Many rows, one check; under every way to write.
BEGIN;
SELECT present('7:2', 'a');
INSERT INTO doc SELECT n, 'many' FROM generate_series(1, 1000) AS n;
UPDATE doc SET body = 'more' WHERE id <= 500;
DELETE FROM doc WHERE id > 2;
COPY doc (id, body) FROM stdin;
3	copied
\.
MERGE INTO doc USING (VALUES (1), (9)) AS v (id) ON v.id = doc.id WHEN MATCHED THEN UPDATE SET body = 'merged' WHEN NOT MATCHED THEN INSERT VALUES (v.id, 'merged');
COMMIT;
SELECT * FROM show();

-- In REPEATABLE READ and SERIALIZABLE, too.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT present('7:3', 'a');
INSERT INTO doc VALUES (10, 'serializable');
INSERT INTO doc VALUES (11, 'serializable');
COMMIT;
SELECT * FROM stored;

-- assert_current is for the leases of this database.
SELECT left(try('SELECT fencing.assert_current({7:3})'), 5);
