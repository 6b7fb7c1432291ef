-- way: a guard that admits what presents no token (on_missing => 'admit')
-- PostgreSQL: fires the triggers
-- fencing: what presents nothing passes, a stale token doesn't: LF001; enforcement_gaps() lists it
-- area: switched off
-- without: gaps
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT fencing.alter_guard('doc', on_missing => 'admit');
SELECT stale($$UPDATE doc SET body = 'stale'$$, NULL);
SELECT stale($$UPDATE doc SET body = 'stale'$$);
SELECT listed();
SELECT fencing.alter_guard('doc', on_missing => 'reject');
SELECT listed();
SELECT stale($$UPDATE doc SET body = 'stale again'$$, NULL);
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT * FROM doc;
