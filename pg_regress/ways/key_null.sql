-- way: NULL in the key column, so that the row belongs to no lease
-- PostgreSQL: allows it where the column isn't NOT NULL
-- fencing: refused, 23502, whoever writes
-- area: keys
-- without: null_key
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT stale($$INSERT INTO item VALUES (NULL, 2, 'stale')$$);
SELECT stale($$INSERT INTO item VALUES (NULL, 2, 'stale')$$, NULL);
SELECT stale($$UPDATE item SET owner = NULL, body = 'stale'$$);
SELECT stale($$UPDATE item SET owner = NULL, body = 'rightful'$$, 'new');
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT * FROM item;
