-- way: a default on the inline column, set after the guard: everybody presents it
-- PostgreSQL: gives the trigger the default where the statement assigns nothing
-- fencing: refused, LF002: in a column with a default nothing counts
-- area: tokens
-- without: inline_default
CREATE TABLE doc (id int, body text, fence bigint);
CALL guard('doc', present_column => 'fence');
CALL takeover();
SELECT rightful($$INSERT INTO doc VALUES (1, 'rightful', {new})$$, NULL);
SELECT token('new') AS token \gset
\set ECHO none
ALTER TABLE doc ALTER fence SET DEFAULT :token;
\set ECHO all
SELECT stale($$INSERT INTO doc VALUES (2, 'stale')$$, NULL);
SELECT rightful($$INSERT INTO doc VALUES (3, 'rightful')$$, 'new');
SELECT * FROM doc;
