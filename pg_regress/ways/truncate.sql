-- way: TRUNCATE
-- PostgreSQL: fires no row trigger, only statement triggers for TRUNCATE
-- fencing: refused, LF001, by a TRUNCATE trigger
-- area: TRUNCATE
-- without: truncate
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
SELECT stale('TRUNCATE doc');
SELECT stale('TRUNCATE doc RESTART IDENTITY');
SELECT stale('TRUNCATE doc', NULL);
SELECT * FROM doc;
SELECT rightful('TRUNCATE doc');
SELECT * FROM doc;
