-- way: rules DO INSTEAD on a view over the guarded table
-- PostgreSQL: runs the rule's statement instead; it fires the triggers of what it writes
-- fencing: refused, LF001
-- area: detours
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE VIEW shown AS SELECT count(*) AS n, max(body) AS body FROM doc;
CREATE RULE change AS ON UPDATE TO shown DO INSTEAD UPDATE doc SET body = NEW.body;
CREATE RULE gone AS ON DELETE TO shown DO INSTEAD DELETE FROM doc;
CALL guard('doc');
CALL takeover();
SELECT rightful($$UPDATE shown SET body = 'rightful'$$);
SELECT stale($$UPDATE shown SET body = 'stale'$$);
SELECT stale('DELETE FROM shown');
SELECT * FROM doc;
