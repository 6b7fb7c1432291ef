-- way: ALTER COLUMN ... TYPE of the key column to a type whose text depends on settings
-- PostgreSQL: rewrites the table without firing any trigger; the owner alone may
-- fencing: every write is refused, 42804, until the type fits or the guard is removed
-- area: DDL
-- without: missing_column
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('1', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
ALTER TABLE item ALTER owner TYPE numeric USING owner::numeric;
SELECT stale($$UPDATE item SET body = 'stale'$$);
ALTER TABLE item ALTER owner TYPE text USING 'a';
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT * FROM item;
