-- way: SET session_replication_role = replica
-- PostgreSQL: skips every trigger that is not ENABLE ALWAYS or ENABLE REPLICA, foreign keys included
-- fencing: refused, LF001: the guard's triggers are ENABLE ALWAYS, and only a real apply worker is taken for one
-- area: replication
-- without: always, apply_worker
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SET session_replication_role = replica;
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT stale($$UPDATE doc SET body = 'stale'$$);
SELECT stale('DELETE FROM doc', NULL);
SELECT stale('TRUNCATE doc', NULL);
SELECT * FROM doc;
