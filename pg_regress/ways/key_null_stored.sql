-- way: UPDATE or DELETE of a row that already had NULL in its key column
-- PostgreSQL: fires the row trigger
-- fencing: refused, 23502; the row is given a key with the guard removed
-- area: keys
-- without: null_key
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES (NULL, 1, 'before'), ('a', 2, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT stale($$UPDATE item SET body = 'stale' WHERE id = 1$$);
SELECT stale('DELETE FROM item WHERE id = 1');
SELECT rightful($$UPDATE item SET body = 'rightful' WHERE id = 2$$);
SELECT * FROM item ORDER BY id;
