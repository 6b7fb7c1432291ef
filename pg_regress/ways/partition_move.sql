-- way: UPDATE that moves a row to another partition
-- PostgreSQL: fires BEFORE UPDATE and BEFORE DELETE on the source, BEFORE INSERT on the target
-- fencing: refused, LF001; for a rightful holder it is one write
-- area: partitions
-- without: row
CREATE TABLE item (owner text, part int, body text) PARTITION BY LIST (part);
CREATE TABLE item_1 PARTITION OF item FOR VALUES IN (1);
CREATE TABLE item_2 PARTITION OF item FOR VALUES IN (2);
INSERT INTO item VALUES ('a', 1, 'before'), ('a', 2, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$UPDATE item SET part = 2, body = 'rightful' WHERE part = 1$$);
SELECT stale($$UPDATE item SET part = 1, body = 'stale' WHERE part = 2$$);
SELECT tableoid::regclass, * FROM item;
