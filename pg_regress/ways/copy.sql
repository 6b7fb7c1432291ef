-- way: COPY ... FROM
-- PostgreSQL: fires the row trigger for each line
-- fencing: refused, LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
BEGIN;
SELECT present('old');
COPY item FROM stdin;
a	1	stale
a	2	stale
\.
COMMIT;
SELECT landed('stale', 'item');
BEGIN;
SELECT present('new');
COPY item FROM stdin;
a	3	rightful
\.
COMMIT;
SELECT landed('rightful', 'item');
SELECT * FROM item;
