-- way: a write to a table that was attached as a partition after the guard
-- PostgreSQL: clones the row trigger to it, statement and TRUNCATE triggers not; takes its rows as they are
-- fencing: refused, LF001; the DDL watch gives it the rest of the guard
-- area: partitions
-- without: row+statement, truncate, watch
CREATE TABLE doc (id int, body text) PARTITION BY RANGE (id);
CALL guard('doc');
CREATE TABLE doc_1 (body text, id int);
INSERT INTO doc_1 VALUES ('before', 1);
ALTER TABLE doc ATTACH PARTITION doc_1 FOR VALUES FROM (0) TO (10);
CALL takeover();
SELECT rightful($$UPDATE doc_1 SET body = 'rightful'$$);
SELECT stale($$UPDATE doc_1 SET body = 'stale'$$);
SELECT stale('TRUNCATE doc_1');
SELECT * FROM doc;
