-- way: UPDATE of the key column, out of a lease that one no longer holds into one's own
-- PostgreSQL: fires the row trigger with the old and the new row
-- fencing: both leases are asked: LF001 for the left one
-- area: keys
-- without: old_key
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before'), ('a', 2, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$UPDATE item SET owner = 'b', body = 'rightful' WHERE id = 1$$, 'other', 'new');
SELECT stale($$UPDATE item SET owner = 'b', body = 'stale' WHERE id = 2$$, 'other', 'old');
SELECT stale($$UPDATE item SET owner = 'b', body = 'stale' WHERE id = 2$$, 'other');
SELECT * FROM item ORDER BY id;
