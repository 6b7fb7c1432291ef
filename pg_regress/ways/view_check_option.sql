-- way: through a view WITH CHECK OPTION, or one that is a security barrier
-- PostgreSQL: checks its options after the BEFORE triggers of the table below
-- fencing: refused, LF001
-- area: detours
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before');
CREATE VIEW mine WITH (security_barrier) AS SELECT * FROM item WHERE owner = 'a' WITH CASCADED CHECK OPTION;
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$UPDATE mine SET body = 'rightful'$$);
SELECT stale($$UPDATE mine SET body = 'stale'$$);
SELECT stale($$INSERT INTO mine VALUES ('a', 2, 'stale')$$);
SELECT * FROM item;
