-- way: another table's AFTER trigger that writes the guarded one
-- PostgreSQL: fires it at the end of the statement; what it writes fires triggers in turn
-- fencing: refused, LF001
-- area: detours
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE TABLE request (body text);
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE doc SET body = NEW.body; RETURN NULL; END';
CREATE TRIGGER change AFTER INSERT ON request FOR EACH ROW EXECUTE FUNCTION change();
CALL guard('doc');
CALL takeover();
SELECT rightful($$INSERT INTO request VALUES ('rightful')$$);
SELECT stale($$INSERT INTO request VALUES ('stale')$$);
SELECT * FROM doc;
