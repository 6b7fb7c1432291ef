-- way: COPY into a partitioned table, whose rows are routed to the partitions
-- PostgreSQL: fires the partition's row trigger, a clone of its parent's
-- fencing: refused, LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text) PARTITION BY RANGE (id);
CREATE TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (10);
CREATE TABLE item_2 PARTITION OF item FOR VALUES FROM (10) TO (20);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
BEGIN;
SELECT present('old');
COPY item FROM stdin;
a	1	stale
a	11	stale
\.
COMMIT;
SELECT landed('stale', 'item');
BEGIN;
SELECT present('new');
COPY item FROM stdin;
a	2	rightful
a	12	rightful
\.
COMMIT;
SELECT landed('rightful', 'item');
SELECT tableoid::regclass, * FROM item;
