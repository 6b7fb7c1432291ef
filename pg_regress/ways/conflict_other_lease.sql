-- way: INSERT of a row of one's own whose ON CONFLICT DO UPDATE hits a row of another's lease
-- PostgreSQL: fires the row trigger for INSERT with the new row, then for UPDATE with the stored one
-- fencing: the INSERT is accepted, the UPDATE refused: LF001
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int PRIMARY KEY, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$INSERT INTO item VALUES ('b', 1, 'new') ON CONFLICT (id) DO UPDATE SET body = 'rightful'$$, 'other', 'new');
SELECT stale($$INSERT INTO item VALUES ('b', 1, 'new') ON CONFLICT (id) DO UPDATE SET body = 'stale'$$, 'other', 'old');
SELECT * FROM item;
