-- way: a BEFORE trigger of one's own, named to fire after the guard, that changes the key
-- PostgreSQL: fires BEFORE triggers in the order of their names' bytes; "~~" is after "~f"
-- fencing: the stale write passes; a warning says so, enforcement_gaps() lists it; renamed, it fires first: LF001
-- area: switched off
-- without: watch, gaps
CREATE TABLE item (owner text, id int, body text);
CREATE FUNCTION smuggle() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.owner := 'a'; RETURN NEW; END$$;
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT listed();
CREATE TRIGGER "~~late" BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION smuggle();
SELECT stale($$INSERT INTO item VALUES ('b', 1, 'stale')$$, 'other', 'old');
SELECT listed();
ALTER TRIGGER "~~late" ON item RENAME TO early;
SELECT rightful($$INSERT INTO item VALUES ('b', 2, 'rightful')$$, 'other', 'new');
SELECT stale($$INSERT INTO item VALUES ('b', 3, 'stale')$$, 'other', 'old');
SELECT listed();
SELECT * FROM item ORDER BY id;
