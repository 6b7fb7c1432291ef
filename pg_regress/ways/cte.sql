-- way: a data-modifying CTE, also one whose result nobody reads
-- PostgreSQL: runs it to its end whether it is read or not, triggers included
-- fencing: refused, LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$WITH w AS (UPDATE item SET body = 'rightful' RETURNING id) SELECT 1$$);
SELECT stale($$WITH w AS (UPDATE item SET body = 'stale' RETURNING id) SELECT 1$$);
SELECT stale($$WITH w AS (DELETE FROM item RETURNING *) INSERT INTO item SELECT owner, id + 1, 'stale' FROM w$$);
SELECT * FROM item;
