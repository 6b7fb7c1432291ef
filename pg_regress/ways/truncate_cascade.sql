-- way: TRUNCATE ... CASCADE of an unguarded table that the guarded one refers to
-- PostgreSQL: fires the TRUNCATE triggers of every table that it reaches
-- fencing: refused, LF001
-- area: TRUNCATE
-- without: truncate
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE doc (parent int REFERENCES parent);
INSERT INTO parent VALUES (1);
INSERT INTO doc VALUES (1);
CALL guard('doc');
CALL takeover();
SELECT stale('TRUNCATE parent CASCADE');
SELECT * FROM doc;
SELECT rightful('TRUNCATE parent CASCADE');
SELECT * FROM doc;
