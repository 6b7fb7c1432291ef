-- way: RETURNING old, new, to read a token that was given inline, and to write under it
-- PostgreSQL: gives back the row as its BEFORE trigger left it
-- fencing: the inline column is given back as NULL: LF002
-- area: tokens
-- since: 18
-- without: inline_null
CREATE TABLE doc (id int, body text, fence bigint);
CREATE TABLE other (id int, body text, fence bigint);
INSERT INTO doc VALUES (1, 'before', NULL);
CALL guard('doc', present_column => 'fence');
CALL guard('other', present_column => 'fence');
CALL takeover();
CREATE TABLE seen (old bigint, new bigint);
SELECT rightful($$WITH w AS (UPDATE doc SET body = 'rightful', fence = {new} RETURNING old.fence AS old, new.fence AS new) INSERT INTO seen SELECT * FROM w$$, NULL);
SELECT name_of(old), name_of(new) FROM seen;
SELECT stale($$INSERT INTO other SELECT 2, 'stale', new FROM seen$$, NULL);
SELECT * FROM doc;
SELECT * FROM other;
