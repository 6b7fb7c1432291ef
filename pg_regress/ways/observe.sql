-- way: a guard that only observes (mode => 'observe')
-- PostgreSQL: fires the triggers
-- fencing: the stale write passes with a warning; enforcement_gaps() lists it
-- area: switched off
-- without: gaps
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT fencing.alter_guard('doc', mode => 'observe');
SELECT stale($$UPDATE doc SET body = 'stale'$$);
SELECT listed();
SELECT fencing.alter_guard('doc', mode => 'enforce');
SELECT listed();
SELECT stale($$UPDATE doc SET body = 'stale again'$$);
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT * FROM doc;
