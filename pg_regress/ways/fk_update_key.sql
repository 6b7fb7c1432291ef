-- way: ON UPDATE CASCADE into the key column itself, which moves the row to another lease
-- PostgreSQL: updates the child's rows by a query of its own; fires the child's triggers with the old and the new row
-- fencing: both leases are asked: LF001
-- area: foreign keys
-- without: new_key, row
CREATE TABLE parent (name text PRIMARY KEY);
CREATE TABLE item (owner text REFERENCES parent ON UPDATE CASCADE, body text);
INSERT INTO parent VALUES ('b');
INSERT INTO item VALUES ('b', 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT stale($$UPDATE parent SET name = 'a'$$, 'other', 'old');
SELECT rightful($$UPDATE parent SET name = 'a'$$, 'other', 'new');
SELECT * FROM item;
