-- way: ROLLBACK TO a savepoint after the refusal, and the same write again
-- PostgreSQL: gives back the locks that were taken since, and goes on
-- fencing: refused, LF001, each time
-- area: transactions
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
BEGIN;
SELECT present('old');
SAVEPOINT s;
UPDATE doc SET body = 'stale';
\echo stale: :SQLSTATE
ROLLBACK TO s;
UPDATE doc SET body = 'stale';
\echo stale: :SQLSTATE
COMMIT;
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT * FROM doc;
