-- way: a write after the release of the lease, in the same transaction
-- PostgreSQL: still holds the transaction's locks
-- fencing: refused, LF003, though the same write was accepted a moment ago
-- area: transactions
-- without: ended
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
BEGIN;
SELECT present('new');
UPDATE doc SET body = 'rightful';
\echo rightful: :SQLSTATE
SELECT status FROM fencing.release(token('new'));
SAVEPOINT s;
UPDATE doc SET body = 'stale';
\echo stale: :SQLSTATE
ROLLBACK TO s;
COMMIT;
SELECT * FROM doc;
