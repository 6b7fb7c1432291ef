-- way: renaming the key column, and giving its old name to another column that says one's own key
-- PostgreSQL: allows it: a column named in a trigger's arguments is no dependency
-- fencing: the DDL watch follows the column to its new name: LF001
-- area: DDL
-- without: row, watch
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
ALTER TABLE item RENAME owner TO kept;
ALTER TABLE item ADD owner text NOT NULL DEFAULT 'b';
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT stale($$UPDATE item SET body = 'stale'$$, 'other', 'old');
SELECT stale($$INSERT INTO item VALUES ('a', 2, 'stale')$$, 'other', 'old');
SELECT * FROM item;
