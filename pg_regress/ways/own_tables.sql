-- way: lowering the fence itself: writing the extension's own tables
-- PostgreSQL: lets a superuser write any table
-- fencing: refused, 42501, also for superusers; nobody else has any right to them
-- area: tokens
-- without: own_tables
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT stale('UPDATE fencing.fence SET token = {old}', NULL);
SELECT stale('DELETE FROM fencing.fence', NULL);
SELECT stale('UPDATE fencing.lease SET token = {old}', NULL);
SELECT stale('TRUNCATE fencing.term', NULL);
SELECT stale($$UPDATE doc SET body = 'stale'$$);
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT * FROM doc;
