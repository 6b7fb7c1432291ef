-- way: loading data as pg_restore --disable-triggers does: COPY in replica role, by a superuser who presents nothing
-- PostgreSQL: fires ENABLE ALWAYS triggers alone
-- fencing: refused, LF002; load under a token, or in a transaction that begins with fencing.maintain(reason)
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
BEGIN;
SET LOCAL session_replication_role = replica;
SELECT fencing.maintain('load');
COPY doc FROM stdin;
3	rightful
\.
COMMIT;
SELECT landed('rightful', 'doc');
