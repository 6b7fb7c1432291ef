-- way: a write through a parent whose rows are in a child (INHERITS)
-- PostgreSQL: fires the child's row triggers, none of the parent's
-- fencing: refused, LF001: each child has triggers of its own
-- area: inheritance
-- without: row, inheritance
CREATE TABLE item (owner text, id int, body text);
CREATE TABLE item_child (extra int) INHERITS (item);
INSERT INTO item_child VALUES ('a', 1, 'before', 0);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT stale('DELETE FROM item');
SELECT * FROM item;
