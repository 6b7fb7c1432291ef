-- way: a rule DO ALSO on another table that writes the guarded one
-- PostgreSQL: adds the rule's statement to the query; it fires the triggers of what it writes
-- fencing: refused, LF001
-- area: detours
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE TABLE request (body text);
CREATE RULE also AS ON INSERT TO request DO ALSO UPDATE doc SET body = NEW.body;
CALL guard('doc');
CALL takeover();
SELECT rightful($$INSERT INTO request VALUES ('rightful')$$);
SELECT stale($$INSERT INTO request VALUES ('stale')$$);
SELECT * FROM doc;
