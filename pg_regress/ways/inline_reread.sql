-- way: a token read back from a row: an ORM that saves every column, INSERT ... SELECT
-- PostgreSQL: stores what is assigned to a column
-- fencing: the inline column is always stored as NULL, so nothing can be read back: LF002
-- area: tokens
-- without: inline_null
CREATE TABLE doc (id int, body text, fence bigint);
CALL guard('doc', present_column => 'fence');
CALL takeover();
SELECT rightful($$INSERT INTO doc VALUES (1, 'rightful', {new})$$, NULL);
SELECT stale($$INSERT INTO doc SELECT id + 1, 'stale', fence FROM doc$$, NULL);
SELECT stale($$UPDATE doc SET body = 'stale', fence = fence$$, NULL);
SELECT * FROM doc;
