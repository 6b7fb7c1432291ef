-- way: TRUNCATE of one partition of a guarded table
-- PostgreSQL: fires the partition's own TRUNCATE triggers, none of its parent's, and clones none to it
-- fencing: refused, LF001: each partition has a trigger of its own
-- area: TRUNCATE
-- without: truncate, partitions
CREATE TABLE doc (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE doc_1 PARTITION OF doc FOR VALUES FROM (0) TO (10);
CREATE TABLE doc_2 PARTITION OF doc FOR VALUES FROM (10) TO (20);
INSERT INTO doc VALUES (1, 'before'), (11, 'before');
CALL guard('doc');
CALL takeover();
SELECT stale('TRUNCATE doc_1');
SELECT * FROM doc;
SELECT rightful('TRUNCATE doc_1');
SELECT * FROM doc;
