-- way: COPY into a table that is guarded by statement triggers alone (level => 'statement')
-- PostgreSQL: fires the statement trigger once, before the first line
-- fencing: refused, LF001
-- area: statements
-- without: statement
CREATE TABLE doc (id int, body text);
CALL guard('doc', level => 'statement');
CALL takeover();
BEGIN;
SELECT present('old');
COPY doc FROM stdin;
1	stale
\.
COMMIT;
SELECT landed('stale', 'doc');
BEGIN;
SELECT present('new');
COPY doc FROM stdin;
2	rightful
\.
COMMIT;
SELECT landed('rightful', 'doc');
SELECT stale($$UPDATE doc SET body = 'stale'$$);
SELECT * FROM doc;
