-- way: ALTER TABLE ... DISABLE TRIGGER, by the table's owner
-- PostgreSQL: skips the trigger from then on
-- fencing: the stale write passes; a warning says so, enforcement_gaps() lists it, alter_guard(table) mends it
-- area: switched off
-- without: watch, gaps
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
ALTER TABLE item DISABLE TRIGGER ALL;
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT listed();
SELECT fencing.alter_guard('item');
SELECT listed();
SELECT stale($$UPDATE item SET body = 'stale again'$$);
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT * FROM item;
