-- way: TRUNCATE of a partitioned table, of which one partition alone is guarded
-- PostgreSQL: fires the TRUNCATE triggers of every partition that it empties
-- fencing: refused, LF001
-- area: TRUNCATE
-- without: truncate
CREATE TABLE doc (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE doc_1 PARTITION OF doc FOR VALUES FROM (0) TO (10);
CREATE TABLE doc_2 PARTITION OF doc FOR VALUES FROM (10) TO (20);
INSERT INTO doc VALUES (1, 'before'), (11, 'before');
CALL guard('doc_1');
CALL takeover();
SELECT stale('TRUNCATE doc');
SELECT * FROM doc;
SELECT rightful('TRUNCATE doc');
SELECT * FROM doc;
