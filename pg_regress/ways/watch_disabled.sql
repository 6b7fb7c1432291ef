-- way: ALTER EVENT TRIGGER ... DISABLE of the DDL watch, by a superuser, then a new partition
-- PostgreSQL: clones the row trigger to it, statement and TRUNCATE triggers not
-- fencing: the stale TRUNCATE passes; enforcement_gaps() lists watch and partition, alter_guard(table) completes the guard
-- area: switched off
-- without: gaps
CREATE TABLE doc (id int, body text) PARTITION BY RANGE (id);
CALL guard('doc');
CALL takeover();
ALTER EVENT TRIGGER fencing_watch_ddl DISABLE;
SELECT listed();
CREATE TABLE doc_1 PARTITION OF doc FOR VALUES FROM (0) TO (10);
SELECT stale($$INSERT INTO doc_1 VALUES (1, 'stale')$$);
SELECT stale('TRUNCATE doc_1');
SELECT listed();
ALTER EVENT TRIGGER fencing_watch_ddl ENABLE ALWAYS;
SELECT fencing.alter_guard('doc');
SELECT listed();
SELECT stale('TRUNCATE doc_1');
SELECT rightful('TRUNCATE doc_1');
