-- way: UPDATE or DELETE that matches no row
-- PostgreSQL: fires the statement's triggers, no row's; reports 0 rows and success
-- fencing: refused, LF001, by the statement trigger of a guard with one key
-- area: statements
-- without: statement
CREATE TABLE doc (id int PRIMARY KEY, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE doc SET body = 'rightful' WHERE id = 2$$);
SELECT stale($$UPDATE doc SET body = 'stale' WHERE id = 2$$);
SELECT stale('DELETE FROM doc WHERE id = 2');
SELECT * FROM doc;
