-- way: SET ROLE to the table's owner
-- PostgreSQL: fires the triggers for the owner as for anybody
-- fencing: refused, LF001; an owner may switch triggers off, which enforcement_gaps() lists
-- area: tokens
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE ROLE regress_way_owner;
ALTER TABLE doc OWNER TO regress_way_owner;
CALL guard('doc');
SELECT fencing.grant_namespace('jobs', 'regress_way_owner', 'hold');
SET ROLE regress_way_owner;
CALL takeover();
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT stale($$UPDATE doc SET body = 'stale'$$);
RESET ROLE;
SELECT * FROM doc;
DROP OWNED BY regress_way_owner;
DROP ROLE regress_way_owner;
