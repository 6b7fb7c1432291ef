-- way: a write to a partition that was detached
-- PostgreSQL: drops the clone of the row trigger with DETACH
-- fencing: refused, LF001: the DDL watch gives it a row trigger of its own; fencing.unprotect ends it
-- area: partitions
-- without: row, watch
CREATE TABLE item (owner text, id int, body text) PARTITION BY RANGE (id);
CREATE TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (10);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
ALTER TABLE item DETACH PARTITION item_1;
SELECT rightful($$UPDATE item_1 SET body = 'rightful'$$);
SELECT stale($$UPDATE item_1 SET body = 'stale'$$);
SELECT stale('TRUNCATE item_1');
SELECT * FROM item_1;
