-- way: SELECT ... FOR UPDATE first, UPDATE later
-- PostgreSQL: locks the row without any trigger; the UPDATE fires its own
-- fencing: the lock is granted, the UPDATE refused: LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
BEGIN;
SELECT present('new');
SELECT body FROM item FOR UPDATE;
UPDATE item SET body = 'rightful';
\echo rightful: :SQLSTATE
COMMIT;
BEGIN;
SELECT present('old');
SELECT body FROM item FOR UPDATE;
UPDATE item SET body = 'stale';
\echo stale: :SQLSTATE
COMMIT;
SELECT * FROM item;
