-- way: TRUNCATE of a child, of the parent with all children, of the parent ONLY
-- PostgreSQL: fires the TRUNCATE triggers of the tables that it empties
-- fencing: refused, LF001: each has one
-- area: inheritance
-- without: truncate, inheritance
CREATE TABLE doc (id int, body text);
CREATE TABLE doc_child () INHERITS (doc);
INSERT INTO doc VALUES (1, 'before');
INSERT INTO doc_child VALUES (2, 'before');
CALL guard('doc');
CALL takeover();
SELECT stale('TRUNCATE doc_child');
SELECT stale('TRUNCATE doc');
SELECT stale('TRUNCATE ONLY doc');
SELECT * FROM doc;
SELECT rightful('TRUNCATE ONLY doc');
SELECT * FROM doc;
