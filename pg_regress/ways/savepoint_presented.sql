-- way: a token presented in a savepoint that was rolled back
-- PostgreSQL: undoes what was done since, and gives back the locks that were taken since
-- fencing: refused, LF002: the presentation is undone as well
-- area: transactions
-- without: savepoint
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
BEGIN;
SAVEPOINT s;
SELECT present('new');
UPDATE doc SET body = 'rightful';
\echo rightful: :SQLSTATE
ROLLBACK TO s;
UPDATE doc SET body = 'stale';
\echo stale: :SQLSTATE
COMMIT;
SELECT * FROM doc;
