-- way: MERGE ... WHEN NOT MATCHED BY SOURCE THEN DELETE, THEN UPDATE
-- PostgreSQL: fires the row trigger for DELETE or UPDATE
-- fencing: refused, LF001
-- area: statements
-- since: 17
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before'), ('a', 2, 'before');
CREATE TABLE source (id int);
INSERT INTO source VALUES (1);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT stale($$MERGE INTO item USING source ON item.id = source.id WHEN NOT MATCHED BY SOURCE THEN UPDATE SET body = 'stale'$$);
SELECT stale('MERGE INTO item USING source ON item.id = source.id WHEN NOT MATCHED BY SOURCE THEN DELETE');
SELECT * FROM item ORDER BY id;
SELECT rightful('MERGE INTO item USING source ON item.id = source.id WHEN NOT MATCHED BY SOURCE THEN DELETE');
SELECT * FROM item;
