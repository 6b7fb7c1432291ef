-- way: a deferred trigger that writes at commit, in a transaction that released its lease before
-- PostgreSQL: fires it within COMMIT, after everything else
-- fencing: refused, LF003: verdicts reached before the release don't count
-- area: transactions
-- without: ended
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
SET CONSTRAINTS ALL IMMEDIATE;
\echo rightful: :SQLSTATE
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO request VALUES ('after release');
SELECT status FROM fencing.release(token('new'));
COMMIT;
\echo stale: :SQLSTATE
SELECT * FROM doc;
