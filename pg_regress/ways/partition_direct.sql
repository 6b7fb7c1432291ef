-- way: a write directly to a partition
-- PostgreSQL: fires the partition's row trigger, a clone of its parent's, and none of the parent's statement triggers
-- fencing: refused, LF001
-- area: partitions
-- without: row
CREATE TABLE item (owner text, id int, body text) PARTITION BY RANGE (id);
CREATE TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (10);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$UPDATE item_1 SET body = 'rightful'$$);
SELECT stale($$UPDATE item_1 SET body = 'stale'$$);
SELECT stale($$INSERT INTO item_1 VALUES ('a', 2, 'stale')$$);
SELECT stale('DELETE FROM item_1');
SELECT * FROM item;
