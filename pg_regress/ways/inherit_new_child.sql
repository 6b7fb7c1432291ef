-- way: a write to a child that was created, or adopted, after the guard
-- PostgreSQL: gives it none of its parent's triggers
-- fencing: refused, LF001: the DDL watch gives it the guard
-- area: inheritance
-- without: row, watch
CREATE TABLE item (owner text, id int, body text);
CALL guard('item', key_columns => '{owner}');
CREATE TABLE item_child () INHERITS (item);
CREATE TABLE item_adopted (id int, owner text, body text);
ALTER TABLE item_adopted INHERIT item;
CALL takeover();
SELECT rightful($$INSERT INTO item_child VALUES ('a', 1, 'rightful')$$);
SELECT rightful($$INSERT INTO item_adopted VALUES (2, 'a', 'rightful')$$);
SELECT stale($$INSERT INTO item_child VALUES ('a', 3, 'stale')$$);
SELECT stale($$UPDATE item_adopted SET body = 'stale'$$);
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT * FROM item;
