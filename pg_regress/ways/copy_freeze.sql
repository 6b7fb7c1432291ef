-- way: COPY ... FROM ... WITH (FREEZE), into a table that the same transaction created
-- PostgreSQL: fires the row trigger for each line, as any COPY
-- fencing: refused, LF001
-- area: statements
-- without: row
SELECT fencing.create_namespace('jobs');
CALL takeover();
BEGIN;
CREATE TABLE item (owner text, id int, body text);
SELECT fencing.protect('item', 'jobs', key_columns => '{owner}');
SELECT present('old');
COPY item FROM stdin WITH (FREEZE);
a	1	stale
\.
COMMIT;
SELECT 'stale: ' || CASE WHEN to_regclass('item') IS NULL THEN 'rolled back' ELSE '00000' END;
DROP TABLE IF EXISTS item;
BEGIN;
CREATE TABLE item (owner text, id int, body text);
SELECT fencing.protect('item', 'jobs', key_columns => '{owner}');
SELECT present('new');
COPY item FROM stdin WITH (FREEZE);
a	2	rightful
\.
COMMIT;
SELECT landed('rightful', 'item');
SELECT * FROM item;
