-- way: a deferred constraint trigger that writes the guarded table at commit
-- PostgreSQL: fires it within COMMIT; what it writes fires triggers in turn
-- fencing: refused, LF001: the COMMIT fails
-- area: detours
-- without: row+statement
CREATE TABLE doc (id int, body text);
INSERT INTO doc VALUES (1, 'before');
CREATE TABLE request (body text);
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE doc SET body = NEW.body; RETURN NULL; END';
CREATE CONSTRAINT TRIGGER change AFTER INSERT ON request DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION change();
CALL guard('doc');
CALL takeover();
BEGIN;
SELECT present('new');
INSERT INTO request VALUES ('rightful');
COMMIT;
\echo rightful: :SQLSTATE
BEGIN;
SELECT present('old');
INSERT INTO request VALUES ('stale');
COMMIT;
\echo stale: :SQLSTATE
SELECT * FROM doc;
SELECT * FROM request;
