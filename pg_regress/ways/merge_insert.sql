-- way: MERGE ... WHEN NOT MATCHED THEN INSERT
-- PostgreSQL: fires the row trigger for INSERT
-- fencing: refused, LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
CREATE TABLE source (id int);
INSERT INTO source VALUES (1);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT stale($$MERGE INTO item USING source ON item.id = source.id WHEN NOT MATCHED THEN INSERT VALUES ('a', source.id, 'stale')$$);
SELECT rightful($$MERGE INTO item USING source ON item.id = source.id WHEN NOT MATCHED THEN INSERT VALUES ('a', source.id, 'rightful')$$);
SELECT * FROM item;
