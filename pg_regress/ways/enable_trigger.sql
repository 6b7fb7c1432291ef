-- way: DISABLE TRIGGER ALL, then ENABLE TRIGGER ALL (pg_restore --disable-triggers, test fixtures), then replica role
-- PostgreSQL: turns ENABLE ALWAYS into plain ENABLE: the trigger fires, but not in replica role
-- fencing: the stale write passes in replica role; a warning says so, enforcement_gaps() lists it, alter_guard(table) mends it
-- area: switched off
-- without: watch, gaps
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
ALTER TABLE item DISABLE TRIGGER ALL;
ALTER TABLE item ENABLE TRIGGER ALL;
SELECT stale($$UPDATE item SET body = 'stale'$$);
SET session_replication_role = replica;
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT listed();
SELECT fencing.alter_guard('item');
SELECT listed();
SELECT stale($$UPDATE item SET body = 'stale again'$$);
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT * FROM item;
