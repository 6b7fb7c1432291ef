-- way: MERGE ... RETURNING in a CTE, to get hold of the result before any error
-- PostgreSQL: gives a row back only after its BEFORE trigger
-- fencing: refused, LF001; nothing is given back
-- area: statements
-- since: 17
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CREATE TABLE taken (action text, body text);
CREATE TABLE source (id int);
INSERT INTO source VALUES (1), (2);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$WITH m AS (MERGE INTO item USING source ON item.id = source.id WHEN MATCHED THEN UPDATE SET body = 'rightful' RETURNING merge_action(), item.body)
                  INSERT INTO taken SELECT * FROM m$$);
SELECT stale($$WITH m AS (MERGE INTO item USING source ON item.id = source.id WHEN MATCHED THEN UPDATE SET body = 'stale'
                          WHEN NOT MATCHED THEN INSERT VALUES ('a', source.id, 'stale') RETURNING merge_action(), item.body)
               INSERT INTO taken SELECT * FROM m$$);
SELECT * FROM taken;
SELECT * FROM item;
