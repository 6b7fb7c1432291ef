-- way: dropping the key column
-- PostgreSQL: allows it: a column named in a trigger's arguments is no dependency
-- fencing: every write is refused, 42703, until the guard is removed or altered
-- area: DDL
-- without: missing_column
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
ALTER TABLE item DROP COLUMN owner;
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT stale($$UPDATE item SET body = 'stale'$$, NULL);
SELECT * FROM item;
