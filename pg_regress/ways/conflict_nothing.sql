-- way: INSERT ... ON CONFLICT DO NOTHING
-- PostgreSQL: fires the row trigger for INSERT, before it looks for a conflict
-- fencing: refused, LF001, conflict or none
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int PRIMARY KEY, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT stale($$INSERT INTO item VALUES ('a', 1, 'stale') ON CONFLICT DO NOTHING$$);
SELECT stale($$INSERT INTO item VALUES ('a', 2, 'stale') ON CONFLICT DO NOTHING$$);
SELECT rightful($$INSERT INTO item VALUES ('a', 1, 'rightful'), ('a', 3, 'rightful') ON CONFLICT DO NOTHING$$);
SELECT * FROM item;
