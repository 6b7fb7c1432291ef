-- way: a BEFORE trigger of one's own that changes the row's key, to another lease's
-- PostgreSQL: fires BEFORE triggers by name; each is given the row that the one before left
-- fencing: sees the row as it will be stored: LF001
-- area: detours
-- without: row, sorting
CREATE TABLE item (owner text, id int, body text);
CREATE FUNCTION smuggle() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.owner := 'a'; RETURN NEW; END$$;
CREATE TRIGGER zzz BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION smuggle();
CALL guard('item', key_columns => '{owner}');
CALL takeover();
SELECT rightful($$INSERT INTO item VALUES ('b', 1, 'rightful')$$, 'other', 'new');
SELECT stale($$INSERT INTO item VALUES ('b', 2, 'stale')$$, 'other', 'old');
SELECT * FROM item;
