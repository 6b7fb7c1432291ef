-- way: ALTER COLUMN ... TYPE ... USING, by which the table's owner changes every row
-- PostgreSQL: rewrites the table without firing any trigger
-- fencing: it passes, the guard stays; enforcement_gaps() notes owners that are no superusers: let a writer's role own nothing
-- area: switched off
-- without: gaps
CREATE ROLE regress_way_alter;
GRANT CREATE ON SCHEMA public TO regress_way_alter;
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
SELECT fencing.grant_namespace('jobs', 'regress_way_alter', 'hold');
GRANT ALL ON doc TO regress_way_alter;
SET ROLE regress_way_alter;
CALL takeover();
-- Not the owner: PostgreSQL refuses.
SELECT stale($$ALTER TABLE doc ALTER body TYPE text USING 'stale'$$);
RESET ROLE;
SELECT listed('owner');
ALTER TABLE doc OWNER TO regress_way_alter;
SELECT listed('owner');
SET ROLE regress_way_alter;
SELECT stale($$ALTER TABLE doc ALTER body TYPE text USING 'stale'$$);
SELECT stale($$UPDATE doc SET body = 'stale again'$$);
SELECT * FROM doc;
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
RESET ROLE;
DROP OWNED BY regress_way_alter;
DROP ROLE regress_way_alter;
