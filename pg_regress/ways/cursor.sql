-- way: UPDATE and DELETE ... WHERE CURRENT OF a cursor
-- PostgreSQL: fires the row trigger
-- fencing: refused, LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM item FOR UPDATE;
FETCH c;
SELECT present('new');
UPDATE item SET body = 'rightful' WHERE CURRENT OF c;
\echo rightful: :SQLSTATE
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM item FOR UPDATE;
FETCH c;
SELECT present('old');
SAVEPOINT s;
UPDATE item SET body = 'stale' WHERE CURRENT OF c;
\echo stale: :SQLSTATE
ROLLBACK TO s;
DELETE FROM item WHERE CURRENT OF c;
\echo stale: :SQLSTATE
ROLLBACK;
SELECT * FROM item;
