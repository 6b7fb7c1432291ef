-- way: DROP TABLE of a partition, by which its owner deletes every row in it
-- PostgreSQL: fires no trigger
-- fencing: it passes; enforcement_gaps() notes owners that are no superusers: let a writer's role own nothing
-- area: switched off
-- without: gaps
CREATE ROLE regress_way_drop;
CREATE TABLE doc (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE doc_1 PARTITION OF doc FOR VALUES FROM (0) TO (10);
CREATE TABLE doc_2 PARTITION OF doc FOR VALUES FROM (10) TO (20);
INSERT INTO doc VALUES (1, 'before'), (11, 'before');
CALL guard('doc');
SELECT fencing.grant_namespace('jobs', 'regress_way_drop', 'hold');
GRANT ALL ON doc TO regress_way_drop;
ALTER TABLE doc_2 OWNER TO regress_way_drop;
SELECT listed('owner');
SET ROLE regress_way_drop;
CALL takeover();
-- Not the owner: PostgreSQL refuses.
SELECT stale('DROP TABLE doc_1');
SELECT stale('DROP TABLE doc_2');
SELECT stale('DELETE FROM doc');
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
RESET ROLE;
SELECT * FROM doc;
DROP OWNED BY regress_way_drop;
DROP ROLE regress_way_drop;
