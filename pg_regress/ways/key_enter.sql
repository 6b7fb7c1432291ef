-- way: UPDATE of the key column, into a lease that one no longer holds
-- PostgreSQL: fires the row trigger with the old and the new row
-- fencing: both leases are asked: LF001 for the entered one
-- area: keys
-- without: new_key
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('b', 1, 'before'), ('b', 2, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$UPDATE item SET owner = 'a', body = 'rightful' WHERE id = 1$$, 'other', 'new');
SELECT stale($$UPDATE item SET owner = 'a', body = 'stale' WHERE id = 2$$, 'other', 'old');
SELECT stale($$UPDATE item SET owner = 'a', body = 'stale' WHERE id = 2$$, 'other');
SELECT * FROM item ORDER BY id;
