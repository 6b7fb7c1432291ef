-- way: DROP TRIGGER, by the table's owner
-- PostgreSQL: drops it
-- fencing: the stale write passes; a warning says so, enforcement_gaps() lists it, alter_guard(table) mends it
-- area: switched off
-- without: gaps
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
DROP TRIGGER "~fencing" ON item;
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT listed();
SELECT fencing.alter_guard('item');
SELECT listed();
SELECT stale($$UPDATE item SET body = 'stale again'$$);
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT * FROM item;
