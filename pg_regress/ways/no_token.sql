-- way: any write by someone who knows of no lease: psql, a cron job, an admin's page
-- PostgreSQL: fires the triggers as for anybody
-- fencing: refused, LF002; superusers are no exception
-- area: statements
-- without: missing
CREATE TABLE doc (id int PRIMARY KEY, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT stale($$UPDATE doc SET body = 'by hand'$$, NULL);
SELECT stale('DELETE FROM doc', NULL);
SELECT * FROM doc;
