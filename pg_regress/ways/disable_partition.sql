-- way: DISABLE TRIGGER on one partition
-- PostgreSQL: allows it for a cloned trigger, though not its DROP
-- fencing: the stale write passes, directly and through the parent; a warning says so, enforcement_gaps() lists it, alter_guard(table) mends it
-- area: switched off
-- without: watch, gaps
CREATE TABLE item (owner text, id int, body text) PARTITION BY RANGE (id);
CREATE TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (10);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
ALTER TABLE item_1 DISABLE TRIGGER "~fencing";
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT listed();
SELECT fencing.alter_guard('item');
SELECT listed();
SELECT stale($$UPDATE item SET body = 'stale again'$$);
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT * FROM item;
