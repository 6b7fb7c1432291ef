-- way: a write to a child that inherits no more
-- PostgreSQL: leaves its triggers as they are
-- fencing: refused, LF001; fencing.unprotect ends it
-- area: inheritance
-- without: row, inheritance
CREATE TABLE item (owner text, id int, body text);
CREATE TABLE item_child () INHERITS (item);
INSERT INTO item_child VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
ALTER TABLE item_child NO INHERIT item;
SELECT rightful($$UPDATE item_child SET body = 'rightful'$$);
SELECT stale($$UPDATE item_child SET body = 'stale'$$);
SELECT * FROM item_child;
