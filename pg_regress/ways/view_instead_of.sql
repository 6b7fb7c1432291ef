-- way: through a view's INSTEAD OF trigger, COPY included
-- PostgreSQL: fires the view's trigger; what that writes fires the table's
-- fencing: refused, LF001
-- area: detours
-- without: row+statement
CREATE TABLE doc (id int, body text);
CREATE VIEW shown AS SELECT * FROM doc;
CREATE FUNCTION write() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO doc VALUES (NEW.*); RETURN NEW; END$$;
CREATE TRIGGER write INSTEAD OF INSERT ON shown FOR EACH ROW EXECUTE FUNCTION write();
CALL guard('doc');
CALL takeover();
SELECT rightful($$INSERT INTO shown VALUES (1, 'rightful')$$);
SELECT stale($$INSERT INTO shown VALUES (2, 'stale')$$);
BEGIN;
SELECT present('old');
COPY shown FROM stdin;
3	stale
\.
COMMIT;
SELECT landed('stale', 'shown');
SELECT * FROM doc;
