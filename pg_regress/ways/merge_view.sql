-- way: MERGE into an automatically updatable view
-- PostgreSQL: rewrites the statement to the table below; its triggers fire
-- fencing: refused, LF001
-- area: detours
-- since: 17
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CREATE VIEW shown AS SELECT * FROM item WHERE id < 10;
CREATE TABLE source (id int);
INSERT INTO source VALUES (1), (2);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$MERGE INTO shown USING source ON shown.id = source.id WHEN MATCHED THEN UPDATE SET body = 'rightful'$$);
SELECT stale($$MERGE INTO shown USING source ON shown.id = source.id WHEN MATCHED THEN UPDATE SET body = 'stale'$$);
SELECT stale($$MERGE INTO shown USING source ON shown.id = source.id WHEN NOT MATCHED THEN INSERT VALUES ('a', source.id, 'stale')$$);
SELECT stale('MERGE INTO shown USING source ON shown.id = source.id WHEN MATCHED THEN DELETE');
SELECT * FROM item;
