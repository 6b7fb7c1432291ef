-- way: event_triggers = off, by a superuser, then a new partition
-- PostgreSQL: fires no event trigger; clones the row trigger to the partition, statement and TRUNCATE triggers not
-- fencing: the stale TRUNCATE passes; enforcement_gaps() lists the partition, and the setting where it stays; alter_guard(table) completes the guard
-- area: switched off
-- since: 17
-- without: gaps
CREATE TABLE doc (id int, body text) PARTITION BY RANGE (id);
CALL guard('doc');
CALL takeover();
ALTER DATABASE :"DBNAME" SET event_triggers = off;
SELECT listed();
ALTER DATABASE :"DBNAME" RESET event_triggers;
SELECT listed();
-- In a session alone.
SET event_triggers = off;
CREATE TABLE doc_1 PARTITION OF doc FOR VALUES FROM (0) TO (10);
SELECT stale($$INSERT INTO doc_1 VALUES (1, 'stale')$$);
SELECT stale('TRUNCATE doc_1');
SELECT listed();
SELECT fencing.alter_guard('doc');
SELECT listed();
SELECT stale('TRUNCATE doc_1');
SELECT rightful('TRUNCATE doc_1');
