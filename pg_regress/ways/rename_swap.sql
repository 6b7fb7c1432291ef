-- way: a copy of the table renamed into its place (a migration, a tool that rebuilds tables)
-- PostgreSQL: copies no triggers, and keeps no record of names
-- fencing: the stale write passes; a warning says so, enforcement_gaps() lists it from the record of guarded names
-- area: switched off
-- without: watch, gaps
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
CREATE TABLE rebuilt (LIKE item INCLUDING ALL);
INSERT INTO rebuilt SELECT * FROM item;
ALTER TABLE item RENAME TO item_before;
ALTER TABLE rebuilt RENAME TO item;
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT listed();
SELECT fencing.protect('item', 'jobs', key_columns => '{owner}');
SELECT listed();
SELECT stale($$UPDATE item SET body = 'stale again'$$);
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT * FROM item;
