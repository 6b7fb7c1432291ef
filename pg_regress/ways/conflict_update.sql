-- way: INSERT ... ON CONFLICT DO UPDATE
-- PostgreSQL: fires the row trigger for INSERT, and where there is a conflict for UPDATE as well
-- fencing: refused, LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int PRIMARY KEY, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$INSERT INTO item VALUES ('a', 1, 'new') ON CONFLICT (id) DO UPDATE SET body = 'rightful'$$);
SELECT stale($$INSERT INTO item VALUES ('a', 1, 'new') ON CONFLICT (id) DO UPDATE SET body = 'stale'$$);
SELECT * FROM item;
