-- way: a rule DO INSTEAD on the guarded table, by its owner
-- PostgreSQL: rewrites the statement before any trigger; what it writes instead fires its own
-- fencing: the stale write goes elsewhere without an error; a warning says so, enforcement_gaps() lists it
-- area: switched off
-- without: watch, gaps
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE TABLE elsewhere (LIKE doc);
CALL guard('doc');
CALL takeover();
CREATE RULE elsewhere AS ON INSERT TO doc DO INSTEAD INSERT INTO elsewhere VALUES (NEW.*);
SELECT stale($$INSERT INTO doc VALUES (2, 'stale')$$);
SELECT listed();
DROP RULE elsewhere ON doc;
SELECT listed();
SELECT stale($$INSERT INTO doc VALUES (3, 'stale again')$$);
SELECT rightful($$INSERT INTO doc VALUES (4, 'rightful')$$);
SELECT * FROM doc ORDER BY id;
