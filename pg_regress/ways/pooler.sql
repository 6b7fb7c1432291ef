-- way: a connection that a pooler hands on, after its last client presented a token
-- PostgreSQL: keeps a session's settings and temporary objects until they are reset
-- fencing: refused, LF002: a presentation ends with its transaction
-- area: transactions
-- without: transaction
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
BEGIN;
SELECT present('new');
UPDATE doc SET body = 'rightful';
\echo rightful: :SQLSTATE
COMMIT;
UPDATE doc SET body = 'the next client';
\echo stale: :SQLSTATE
SELECT * FROM doc;
