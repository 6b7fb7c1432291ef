-- way: TRUNCATE of several tables, the guarded one among them
-- PostgreSQL: fires the TRUNCATE triggers of each before it empties any
-- fencing: refused, LF001; none is emptied
-- area: TRUNCATE
-- without: truncate
CREATE TABLE doc (id int);
CREATE TABLE free (id int);
INSERT INTO doc VALUES (1);
INSERT INTO free VALUES (1);
CALL guard('doc');
CALL takeover();
SELECT stale('TRUNCATE free, doc');
SELECT count(*) FROM doc, free;
SELECT rightful('TRUNCATE free, doc');
SELECT count(*) FROM doc, free;
