-- way: a write after a maintenance, in the same session or after ROLLBACK TO
-- PostgreSQL: keeps the session
-- fencing: refused, LF002: maintenance ends with its transaction, or its savepoint
-- area: transactions
-- without: transaction, savepoint
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
BEGIN;
SAVEPOINT s;
SELECT fencing.maintain('taken back');
ROLLBACK TO s;
UPDATE doc SET body = 'after ROLLBACK TO';
\echo stale: :SQLSTATE
COMMIT;
BEGIN;
SELECT fencing.maintain('repair');
UPDATE doc SET body = 'repaired';
\echo rightful: :SQLSTATE
COMMIT;
UPDATE doc SET body = 'after COMMIT';
\echo stale: :SQLSTATE
SELECT * FROM doc;
SELECT kind, detail FROM fencing.event;
