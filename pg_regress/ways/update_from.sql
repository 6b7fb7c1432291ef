-- way: UPDATE ... FROM
-- PostgreSQL: fires the row trigger for each row that the join finds
-- fencing: refused, LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CREATE TABLE source (id int);
INSERT INTO source VALUES (1);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$UPDATE item SET body = 'rightful' FROM source WHERE item.id = source.id$$);
SELECT stale($$UPDATE item SET body = 'stale' FROM source WHERE item.id = source.id$$);
SELECT * FROM item;
