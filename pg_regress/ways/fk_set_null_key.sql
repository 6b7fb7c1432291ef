-- way: ON DELETE SET NULL in the key column itself
-- PostgreSQL: updates the child's rows by a query of its own; fires the child's triggers
-- fencing: refused, 23502, whoever deletes: the row would belong to no lease
-- area: foreign keys
-- without: null_key
CREATE TABLE parent (name text PRIMARY KEY);
CREATE TABLE item (owner text REFERENCES parent ON DELETE SET NULL, body text);
INSERT INTO parent VALUES ('a'), ('b');
INSERT INTO item VALUES ('a', 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT stale($$DELETE FROM parent WHERE name = 'a'$$);
SELECT rightful($$DELETE FROM parent WHERE name = 'b'$$);
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT * FROM item;
