-- way: a write to a partition that was detached and attached again
-- PostgreSQL: drops the clone of the row trigger with DETACH and makes one with ATTACH
-- fencing: refused, LF001; the trigger that it had in between goes
-- area: partitions
-- without: row
CREATE TABLE item (owner text, id int, body text) PARTITION BY RANGE (id);
CREATE TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (10);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
ALTER TABLE item DETACH PARTITION item_1;
ALTER TABLE item ATTACH PARTITION item_1 FOR VALUES FROM (0) TO (10);
SELECT tgname, tgparentid <> 0 AS cloned, tgenabled FROM pg_trigger WHERE tgrelid = 'item_1'::regclass ORDER BY 1;
SELECT rightful($$UPDATE item_1 SET body = 'rightful'$$);
SELECT stale($$UPDATE item_1 SET body = 'stale'$$);
SELECT * FROM item;
