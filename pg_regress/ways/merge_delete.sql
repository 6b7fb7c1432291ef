-- way: MERGE ... WHEN MATCHED THEN DELETE
-- PostgreSQL: fires the row trigger for DELETE
-- fencing: refused, LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before'), ('a', 2, 'before');
CREATE TABLE source (id int);
INSERT INTO source VALUES (1), (2);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful('MERGE INTO item USING source ON item.id = source.id AND item.id = 1 WHEN MATCHED THEN DELETE');
SELECT stale('MERGE INTO item USING source ON item.id = source.id WHEN MATCHED THEN DELETE');
SELECT * FROM item;
