-- Inline tokens of a coordinator elsewhere: each is for the lease of its own row.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set remote :abs_srcdir '/sql/include/remote.sql'
\i :remote
\set ECHO all

SELECT try($$SELECT fencing.register_coordinator('etcd', 'etcd', 'c1')$$), try('SELECT fencing.install_epoch(''etcd'', 5, id(1))');

-- One lease for the table.
CREATE TABLE line (id int PRIMARY KEY, body text, fence bigint, written bigint);
SELECT try($$SELECT fencing.protect('line', 'jobs', 'a', present_column => 'fence', token_column => 'written', fence => 'destination', coordinator => 'etcd')$$);
CREATE FUNCTION show() RETURNS TABLE (id int, body text, fence bigint, written text) LANGUAGE sql AS 'SELECT id, body, fence, name_of(written) FROM line ORDER BY id';
SELECT try($$INSERT INTO line VALUES (1, 'one', {5:2})$$), try($$INSERT INTO line VALUES (2, 'two', {5:2}), (3, 'three', {5:2}), (4, 'four', NULL)$$);
SELECT try($$UPDATE line SET body = 'newer', fence = {5:3} WHERE id = 1$$);
SELECT * FROM show();
SELECT try($$INSERT INTO line VALUES (5, 'stale', {5:2})$$), try($$UPDATE line SET body = 'stale', fence = {5:2}$$);
SELECT try($$INSERT INTO line VALUES (5, 'none')$$), try('DELETE FROM line');
SELECT try($$INSERT INTO line VALUES (1, 'again', {5:3}) ON CONFLICT (id) DO UPDATE SET body = 'conflict'$$);
SELECT try($$INSERT INTO line VALUES (1, 'again', {5:3}) ON CONFLICT (id) DO UPDATE SET body = excluded.body, fence = excluded.fence$$);
-- Nonsense.
SELECT try($$INSERT INTO line VALUES (5, 'x', 0)$$), try($$INSERT INTO line VALUES (5, 'x', -1)$$), try($$INSERT INTO line VALUES (5, 'x', 42)$$, hints => true);
SELECT try($$INSERT INTO line VALUES (5, 'x', {6:1})$$);
-- Two tokens in one statement; one that was presented by name; another one later in the transaction.
SELECT try($$INSERT INTO line VALUES (5, 'x', {5:3}), (6, 'x', {5:4})$$);
SELECT try($$INSERT INTO line VALUES (5, 'x', {5:4}), (6, 'x', {5:3})$$, hints => true);
SELECT under('5:3', $$INSERT INTO line VALUES (5, 'x', 2748779069444)$$);
SELECT under('5:4', $$INSERT INTO line VALUES (5, 'x', 2748779069444)$$);
SELECT under('5:4', $$INSERT INTO line VALUES (6, 'by name')$$);
BEGIN;
SELECT try($$INSERT INTO line VALUES (7, 'first', {5:4})$$);
SELECT try($$INSERT INTO line VALUES (8, 'second', {5:5})$$);
SELECT try($$INSERT INTO line VALUES (8, 'second', {5:4})$$);
COMMIT;
-- A statement's token is gone with it.
BEGIN;
SELECT try($$INSERT INTO line VALUES (9, 'nine', {5:4})$$);
SELECT try($$INSERT INTO line VALUES (10, 'ten')$$);
COMMIT;
SELECT * FROM show();
SELECT * FROM stored;

-- One lease per value: a token counts for its row's lease, and in its statement for other rows of that.
CREATE TABLE task (id int, region text, fence bigint, written bigint);
SELECT try($$SELECT fencing.protect('task', 'tasks', key_columns => '{region}', present_column => 'fence', token_column => 'written', fence => 'destination', coordinator => 'etcd')$$);
CREATE FUNCTION tasks() RETURNS TABLE (id int, region text, fence bigint, written text) LANGUAGE sql AS 'SELECT id, region, fence, name_of(written) FROM task ORDER BY id';
SELECT try($$INSERT INTO task VALUES (1, 'eu', {5:1}), (2, 'us', {5:5}), (3, 'eu', NULL), (4, 'us', {5:5})$$);
SELECT try($$INSERT INTO task VALUES (5, 'eu', {5:1}), (6, 'us', NULL)$$);
SELECT try($$INSERT INTO task VALUES (5, 'us', {5:1})$$);
SELECT try($$INSERT INTO task VALUES (5, NULL, {5:1})$$);
SELECT * FROM tasks();
-- A row that moves: its own token is for the lease that it enters; the one that it leaves takes one by name.
SELECT try($$UPDATE task SET region = 'us', fence = {5:5} WHERE id = 1$$);
SELECT under('5:1', $$UPDATE task SET region = 'us', fence = 2748779069445 WHERE id = 1$$, 'eu', 'tasks');
SELECT under('5:1', $$UPDATE task SET region = 'us', fence = 2748779069444 WHERE id = 3$$, 'eu', 'tasks');
SELECT under('5:5', $$UPDATE task SET region = 'us', fence = 2748779069441 WHERE id = 3$$, 'us', 'tasks');
BEGIN;
SELECT present('5:1', 'eu', 'tasks'), present('5:5', 'us', 'tasks');
SELECT try($$UPDATE task SET region = 'us' WHERE id = 3$$), try($$UPDATE task SET region = 'eu' WHERE id = 2$$);
COMMIT;
SELECT * FROM tasks();
SELECT left(try('TRUNCATE task'), 5);

-- Between partitions a row moves in one write, with one token.
CREATE TABLE part (id int, region text, fence bigint) PARTITION BY LIST (id);
CREATE TABLE part1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part2 PARTITION OF part FOR VALUES IN (2);
SELECT try($$SELECT fencing.protect('part', 'parts', 'p', present_column => 'fence', fence => 'destination', coordinator => 'etcd')$$);
SELECT try($$INSERT INTO part VALUES (1, 'x', {5:1})$$);
SELECT try($$UPDATE part SET id = 2, fence = {5:2}$$);
SELECT tableoid::regclass, * FROM part;
SELECT try($$UPDATE part SET id = 1, fence = {5:1}$$), try($$UPDATE part SET id = 1$$);

-- A foreign key's actions are part of the statement.
CREATE TABLE parent (id int PRIMARY KEY, fence bigint);
CREATE TABLE child (id int, parent int REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE);
SELECT try($$SELECT fencing.protect('parent', 'family', 'f', present_column => 'fence', fence => 'destination', coordinator => 'etcd')$$);
SELECT try($$SELECT fencing.protect('child', 'family', 'f', fence => 'destination', coordinator => 'etcd')$$);
SELECT try($$INSERT INTO parent VALUES (1, {5:1})$$), under('5:1', 'INSERT INTO child VALUES (1, 1)', 'f', 'family');
SELECT try($$UPDATE parent SET id = 2, fence = {5:2}$$);
SELECT * FROM child;
SELECT try($$UPDATE parent SET id = 3, fence = {5:1}$$), try('DELETE FROM parent');
SELECT under('5:2', 'DELETE FROM parent', 'f', 'family');
SELECT count(*) FROM child;
