-- way: DROP TRIGGER of all that a guard consists of
-- PostgreSQL: drops them; the table says nothing of its guard any more
-- fencing: the stale write passes; warnings say so, enforcement_gaps() lists it from the record of guarded names
-- area: switched off
-- without: gaps
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
DROP TRIGGER "~fencing" ON item;
DROP TRIGGER "~fencing_truncate" ON item;
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT listed();
SELECT fencing.protect('item', 'jobs', key_columns => '{owner}');
SELECT listed();
SELECT stale($$UPDATE item SET body = 'stale again'$$);
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT * FROM item;
