-- way: DROP TABLE, then CREATE TABLE of the same name
-- PostgreSQL: drops the triggers with the table
-- fencing: the stale write passes; enforcement_gaps() lists it from the record of guarded names
-- area: switched off
-- without: gaps
CREATE TABLE item (owner text, id int, body text);
CALL guard('item', key_columns => '{owner}');
CALL takeover();
DROP TABLE item;
SELECT listed();
CREATE TABLE item (owner text, id int, body text);
SELECT stale($$INSERT INTO item VALUES ('a', 1, 'stale')$$);
SELECT listed();
SELECT fencing.protect('item', 'jobs', key_columns => '{owner}');
SELECT listed();
SELECT stale($$INSERT INTO item VALUES ('a', 2, 'stale again')$$);
SELECT rightful($$INSERT INTO item VALUES ('a', 3, 'rightful')$$);
SELECT * FROM item ORDER BY id;
