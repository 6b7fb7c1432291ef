-- way: loading data as pg_dump and pg_restore --disable-triggers do: COPY in replica role, in a transaction of its own
-- PostgreSQL: fires ENABLE ALWAYS triggers alone
-- fencing: refused, LF002; load under a token, or before the guard is attached
-- area: replication
-- without: missing, always, apply_worker
CREATE TABLE doc (id int, body text);
CALL guard('doc');
CALL takeover();
BEGIN;
SET LOCAL session_replication_role = replica;
COPY doc FROM stdin;
1	stale
\.
COMMIT;
SELECT landed('stale', 'doc');
BEGIN;
SET LOCAL session_replication_role = replica;
SELECT present('new');
COPY doc FROM stdin;
2	rightful
\.
COMMIT;
SELECT landed('rightful', 'doc');
