-- way: DELETE ... USING
-- PostgreSQL: fires the row trigger for each row that the join finds
-- fencing: refused, LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before'), ('a', 2, 'before');
CREATE TABLE source (id int);
INSERT INTO source VALUES (1), (2);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful('DELETE FROM item USING source WHERE item.id = source.id AND source.id = 1');
SELECT stale('DELETE FROM item USING source WHERE item.id = source.id');
SELECT * FROM item;
