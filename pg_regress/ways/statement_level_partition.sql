-- way: a table guarded by statement triggers alone becomes a partition, and is written through its parent
-- PostgreSQL: fires the parent's statement triggers alone
-- fencing: the stale write passes; enforcement_gaps() lists it, alter_guard(table, level => 'row') mends it
-- area: switched off
-- without: gaps
CREATE TABLE doc (id int, body text);
CALL guard('doc', level => 'statement');
CALL takeover();
CREATE TABLE docs (id int, body text) PARTITION BY RANGE (id);
ALTER TABLE docs ATTACH PARTITION doc FOR VALUES FROM (0) TO (10);
SELECT stale($$INSERT INTO docs VALUES (1, 'stale')$$);
SELECT listed();
SELECT fencing.alter_guard('doc', level => 'row');
SELECT listed();
SELECT stale($$INSERT INTO docs VALUES (2, 'stale again')$$);
SELECT rightful($$INSERT INTO docs VALUES (3, 'rightful')$$);
SELECT * FROM docs ORDER BY id;
