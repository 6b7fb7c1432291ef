-- way: UPDATE of a row into whose inline column a token got by other means, the guard switched off
-- PostgreSQL: gives the trigger the stored value where the statement assigns none
-- fencing: refused, LF013: what can be read back is no presentation
-- area: tokens
-- without: inline_stored
CREATE TABLE doc (id int, body text, fence bigint);
CALL guard('doc', present_column => 'fence');
CALL takeover();
ALTER TABLE doc DISABLE TRIGGER ALL;
INSERT INTO doc VALUES (1, 'before', token('new')), (2, 'before', NULL);
ALTER TABLE doc ENABLE ALWAYS TRIGGER "~fencing";
ALTER TABLE doc ENABLE ALWAYS TRIGGER "~fencing_statement";
SELECT stale($$UPDATE doc SET body = 'stale' WHERE id = 1$$, NULL);
SELECT rightful($$UPDATE doc SET body = 'rightful', fence = {new} WHERE id = 2$$, NULL);
SELECT id, body FROM doc ORDER BY id;
