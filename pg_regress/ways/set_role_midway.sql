-- way: SET ROLE, after a write of the same transaction was accepted
-- PostgreSQL: keeps the transaction, its locks and its cached plans
-- fencing: refused, LF008: a verdict is remembered for the role that it was reached for
-- area: tokens
-- without: role
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE ROLE regress_way_midway;
GRANT ALL ON doc TO regress_way_midway;
CALL guard('doc');
CALL takeover();
BEGIN;
SELECT present('new');
UPDATE doc SET body = 'rightful';
\echo rightful: :SQLSTATE
SET LOCAL ROLE regress_way_midway;
SAVEPOINT s;
UPDATE doc SET body = 'stale';
\echo stale: :SQLSTATE
ROLLBACK TO s;
COMMIT;
SELECT * FROM doc;
DROP OWNED BY regress_way_midway;
DROP ROLE regress_way_midway;
