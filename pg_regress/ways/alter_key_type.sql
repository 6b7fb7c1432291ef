-- way: ALTER COLUMN ... TYPE of the key column
-- PostgreSQL: rewrites the table without firing any trigger; the owner alone may
-- fencing: the guard stays, and makes the key of the new type's text: LF001
-- area: DDL
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
ALTER TABLE item ALTER owner TYPE varchar(10);
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT * FROM item;
