-- way: MERGE ... WHEN MATCHED THEN UPDATE
-- PostgreSQL: fires the row trigger for UPDATE
-- fencing: refused, LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CREATE TABLE source (id int);
INSERT INTO source VALUES (1);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$MERGE INTO item USING source ON item.id = source.id WHEN MATCHED THEN UPDATE SET body = 'rightful'$$);
SELECT stale($$MERGE INTO item USING source ON item.id = source.id WHEN MATCHED THEN UPDATE SET body = 'stale'$$);
SELECT * FROM item;
