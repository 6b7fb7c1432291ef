-- way: a write directly to a child, or a child's child
-- PostgreSQL: fires its own triggers alone
-- fencing: refused, LF001: each child has triggers of its own
-- area: inheritance
-- without: row, inheritance
CREATE TABLE item (owner text, id int, body text);
CREATE TABLE item_child () INHERITS (item);
CREATE TABLE item_grandchild () INHERITS (item_child);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$INSERT INTO item_grandchild VALUES ('a', 1, 'rightful')$$);
SELECT stale($$INSERT INTO item_child VALUES ('a', 2, 'stale')$$);
SELECT stale($$UPDATE ONLY item_grandchild SET body = 'stale'$$);
SELECT * FROM item;
