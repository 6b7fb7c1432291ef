-- way: a write to a partition of a partitioned table that was attached after the guard
-- PostgreSQL: clones the row trigger through all levels, statement and TRUNCATE triggers nowhere
-- fencing: refused, LF001; the DDL watch completes the guard at every level
-- area: partitions
-- without: row+statement, truncate, watch
CREATE TABLE doc (id int, body text) PARTITION BY RANGE (id);
CALL guard('doc');
CREATE TABLE doc_1 (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE doc_1_1 PARTITION OF doc_1 FOR VALUES FROM (0) TO (5);
ALTER TABLE doc ATTACH PARTITION doc_1 FOR VALUES FROM (0) TO (10);
CALL takeover();
SELECT rightful($$INSERT INTO doc_1_1 VALUES (1, 'rightful')$$);
SELECT stale($$UPDATE doc_1_1 SET body = 'stale'$$);
SELECT stale('TRUNCATE doc_1_1');
SELECT * FROM doc;
