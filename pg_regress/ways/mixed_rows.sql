-- way: a statement that writes rows of one's own lease and, among them, one of another's
-- PostgreSQL: fires the row trigger for each row; an error undoes the whole statement
-- fencing: refused, LF001; nothing of the statement is done
-- area: statements
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item SELECT 'b', n, 'before' FROM generate_series(1, 3) AS n;
INSERT INTO item VALUES ('a', 4, 'before');
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT stale($$UPDATE item SET body = 'stale'$$, 'other', 'old');
SELECT stale($$INSERT INTO item SELECT CASE n WHEN 7 THEN 'a' ELSE 'b' END, n, 'stale' FROM generate_series(5, 9) AS n$$, 'other', 'old');
SELECT rightful($$UPDATE item SET body = 'rightful'$$, 'other', 'new');
SELECT * FROM item;
