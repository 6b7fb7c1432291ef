-- Foreign keys: their actions are writes to the referencing table.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
CREATE TABLE parent (id int PRIMARY KEY, other int UNIQUE);
CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE,
                    other int REFERENCES parent (other) ON DELETE SET NULL, written bigint);
INSERT INTO parent VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT INTO child VALUES (10, 1, NULL), (20, 2, NULL), (30, NULL, 3);
SELECT try($$SELECT fencing.protect('child', 'jobs', 'a', token_column => 'written')$$);
SELECT take('old');
SELECT status FROM fencing.release(token('old'));
SELECT take('new');

-- Rows that go with their parent need the token.
SELECT try('DELETE FROM parent WHERE id = 1');
SELECT try('UPDATE parent SET id = 100 WHERE id = 1');
SELECT try('DELETE FROM parent WHERE id = 3');
-- A parent without any may go: the statement leaves a missing token to the rows.
SELECT try('DELETE FROM parent WHERE id = 4');
SELECT * FROM parent ORDER BY id;
SELECT id, parent, other, name_of(written) FROM child ORDER BY id;
-- A token that is no good is refused, rows or none.
INSERT INTO parent VALUES (4, 4);
BEGIN;
SELECT present('old');
SELECT split_part(try('DELETE FROM parent WHERE id = 1'), E'\n', 1);
SELECT split_part(try('DELETE FROM parent WHERE id = 4'), E'\n', 1);
COMMIT;
-- With the token they go, and are stamped. The key's own check takes no token.
BEGIN;
SELECT present('new');
SELECT try('DELETE FROM parent WHERE id = 1');
SELECT try('UPDATE parent SET id = 200 WHERE id = 2');
SELECT try('DELETE FROM parent WHERE id = 3');
COMMIT;
SELECT id, parent, other, name_of(written) FROM child ORDER BY id;
SELECT try('TRUNCATE parent CASCADE');
SELECT try('TRUNCATE parent');

-- Only direct writes are guarded on the referenced side, if that is what is guarded.
SELECT try($$SELECT fencing.unprotect('child')$$);
SELECT try($$SELECT fencing.protect('parent', 'jobs', 'a')$$);
SELECT try('INSERT INTO child VALUES (40, 4)');
SELECT try('DELETE FROM parent WHERE id = 4');
SELECT try($$SELECT fencing.unprotect('parent')$$);

-- Across two leases, each by its own token.
SELECT try($$SELECT fencing.protect('parent', 'jobs', 'a')$$);
SELECT try($$SELECT fencing.protect('child', 'jobs', 'b')$$);
SELECT take('b', 'b');
BEGIN;
SELECT present('new');
SELECT split_part(try('DELETE FROM parent WHERE id = 4'), E'\n', 1);
SELECT present('b');
SELECT try('DELETE FROM parent WHERE id = 4');
COMMIT;
SELECT try($$SELECT fencing.unprotect('child')$$);

-- An inline token counts for what its statement causes.
ALTER TABLE parent ADD fence bigint;
SELECT try($$SELECT fencing.unprotect('parent')$$);
SELECT try($$SELECT fencing.protect('parent', 'jobs', 'a', present_column => 'fence')$$);
SELECT try($$SELECT fencing.protect('child', 'jobs', 'a', token_column => 'written')$$);
SELECT try('UPDATE parent SET id = 300 WHERE id = 200');
SELECT try('UPDATE parent SET id = 300, fence = {new} WHERE id = 200');
SELECT id, parent, other, name_of(written) FROM child ORDER BY id;
SELECT try('UPDATE child SET parent = 300');
SELECT try($$SELECT fencing.unprotect('child')$$);

-- level => 'statement' leaves nothing to the rows: without a token not even a parent that has none may go.
SELECT try($$SELECT fencing.unprotect('parent')$$);
SELECT try($$SELECT fencing.protect('child', 'jobs', 'a', level => 'statement')$$);
INSERT INTO parent VALUES (5, 5);
SELECT split_part(try('DELETE FROM parent WHERE id = 5'), E'\n', 1);
BEGIN;
SELECT present('old');
SELECT split_part(try('DELETE FROM parent WHERE id = 5'), E'\n', 1);
COMMIT;
BEGIN;
SELECT present('new');
SELECT try('DELETE FROM parent WHERE id = 5');
COMMIT;
SELECT * FROM parent ORDER BY id;
