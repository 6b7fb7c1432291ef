-- way: the current token, read from a log or a view by somebody else's role
-- PostgreSQL: fires the triggers as for anybody
-- fencing: refused, LF008: a token is good for the role that acquired it, and its members
-- area: tokens
-- without: role
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE ROLE regress_way_thief;
GRANT ALL ON doc TO regress_way_thief;
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SET ROLE regress_way_thief;
SELECT stale($$UPDATE doc SET body = 'stale'$$, 'new');
RESET ROLE;
SELECT * FROM doc;
DROP OWNED BY regress_way_thief;
DROP ROLE regress_way_thief;
