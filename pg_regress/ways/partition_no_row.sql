-- way: an UPDATE of one partition that matches no row
-- PostgreSQL: fires the partition's own statement triggers, and clones none of its parent's to it
-- fencing: refused, LF001: each partition has a statement trigger of its own
-- area: partitions
-- without: statement, partitions
CREATE TABLE doc (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE doc_1 PARTITION OF doc FOR VALUES FROM (0) TO (10);
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE doc_1 SET body = 'rightful'$$);
SELECT stale($$UPDATE doc_1 SET body = 'stale'$$);
