-- way: a write to a partition that was created after the guard
-- PostgreSQL: clones the row trigger to it, statement and TRUNCATE triggers not
-- fencing: refused, LF001; the DDL watch gives it the rest of the guard
-- area: partitions
-- without: row+statement, truncate, watch
CREATE TABLE doc (id int, body text) PARTITION BY RANGE (id);
CALL guard('doc');
CREATE TABLE doc_1 PARTITION OF doc FOR VALUES FROM (0) TO (10);
CALL takeover();
SELECT rightful($$INSERT INTO doc_1 VALUES (1, 'rightful')$$);
SELECT stale($$UPDATE doc_1 SET body = 'stale'$$);
SELECT stale('TRUNCATE doc_1');
SELECT * FROM doc;
