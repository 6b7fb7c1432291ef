-- way: COPY ... FROM (ON_ERROR ignore), which skips lines that it can't read
-- PostgreSQL: ignores what its input functions refuse, and raises what a trigger refuses
-- fencing: refused, LF001
-- area: statements
-- since: 17
-- without: row
CREATE TABLE item (owner text, id int, body text);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
BEGIN;
SELECT present('old');
COPY item FROM stdin (ON_ERROR ignore);
a	one	stale
a	2	stale
\.
\echo stale: :SQLSTATE
COMMIT;
SELECT landed('stale', 'item');
BEGIN;
SELECT present('new');
COPY item FROM stdin (ON_ERROR ignore);
a	three	rightful
a	4	rightful
\.
COMMIT;
SELECT landed('rightful', 'item');
SELECT * FROM item;
