-- way: a write to a partition of a partition, directly or by TRUNCATE
-- PostgreSQL: clones the row trigger through all levels, statement triggers nowhere
-- fencing: refused, LF001, at every level
-- area: partitions
-- without: row+statement, truncate, partitions
CREATE TABLE doc (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE doc_1 PARTITION OF doc FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);
CREATE TABLE doc_1_1 PARTITION OF doc_1 FOR VALUES FROM (0) TO (5);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE doc_1_1 SET body = 'rightful'$$);
SELECT stale($$UPDATE doc_1_1 SET body = 'stale'$$);
SELECT stale('TRUNCATE doc_1');
SELECT stale('TRUNCATE doc_1_1');
SELECT * FROM doc;
