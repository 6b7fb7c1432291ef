-- way: TRUNCATE of a table with one lease for each key
-- PostgreSQL: names no row, so no key
-- fencing: refused, LF002, whoever asks: delete the rows of the leases that you hold instead
-- area: TRUNCATE
-- without: truncate
CREATE TABLE item (owner text, id int);
INSERT INTO item VALUES ('a', 1), ('b', 2);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT stale('TRUNCATE item');
SELECT stale('TRUNCATE item', 'new', 'other');
SELECT rightful('DELETE FROM item', 'new', 'other');
SELECT * FROM item;
