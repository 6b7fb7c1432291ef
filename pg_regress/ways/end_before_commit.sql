-- way: a write that was checked in time, and a COMMIT after the term has ended
-- PostgreSQL: runs no trigger at COMMIT that has not been queued
-- fencing: refused, LF003: every accepted term is checked once more before commit
-- area: transactions
-- without: recheck
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
BEGIN;
SELECT present('new');
UPDATE doc SET body = 'stale';
SET fencing.test_clock_offset = 3600000;
COMMIT;
\echo stale: :SQLSTATE
SELECT * FROM doc;
