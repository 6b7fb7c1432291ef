-- way: INSERT ... SELECT
-- PostgreSQL: fires the row trigger for each row that the query gives
-- fencing: refused, LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
CREATE TABLE source AS SELECT n AS id FROM generate_series(1, 3) AS n;
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$INSERT INTO item SELECT 'a', id, 'rightful' FROM source$$);
SELECT stale($$INSERT INTO item SELECT 'a', id + 10, 'stale' FROM source$$);
SELECT * FROM item;
