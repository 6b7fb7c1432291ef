-- way: UPDATE ... RETURNING in a query, to get hold of the result before any error
-- PostgreSQL: gives a row back only after its BEFORE trigger
-- fencing: refused, LF001; nothing is given back
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
BEGIN;
SELECT present('old');
UPDATE item SET body = 'stale' RETURNING body;
\echo stale: :SQLSTATE
COMMIT;
BEGIN;
SELECT present('new');
UPDATE item SET body = 'rightful' RETURNING body;
\echo rightful: :SQLSTATE
COMMIT;
SELECT * FROM item;
