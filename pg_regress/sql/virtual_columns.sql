-- since: 18
-- Virtual generated columns: none may be part of a guard, any may be beside one. NOT NULL constraints.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('a'), take('b', 'b');

-- Refused, as stored ones are.
CREATE TABLE doc (id int, k text, made bigint GENERATED ALWAYS AS (id * 2) VIRTUAL, fence bigint, written bigint);
SELECT try($$SELECT fencing.protect('doc', 'jobs', key_columns => '{made}')$$);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', token_column => 'made')$$);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', present_column => 'made')$$);
SELECT count(*) FROM fencing.guards;

-- Beside a guard that changes the row: the token is stamped, the column computed.
SELECT try($$SELECT fencing.protect('doc', 'jobs', key_columns => '{k}', token_column => 'written', present_column => 'fence')$$);
SELECT try($$INSERT INTO doc (id, k, fence) VALUES (1, 'a', {a})$$);
SELECT try($$INSERT INTO doc (id, k, fence) VALUES (2, 'a', {b})$$);
SELECT try($$UPDATE doc SET id = 3, fence = {a} WHERE made = 2$$);
SELECT try($$UPDATE doc SET id = 4 WHERE made = 6$$);
SELECT id, made, fence, name_of(written) FROM doc;
ALTER TABLE doc ADD twice bigint GENERATED ALWAYS AS (id + id) VIRTUAL, ADD thrice bigint GENERATED ALWAYS AS (id * 3) STORED;
SELECT try($$UPDATE doc SET k = k, fence = {a}$$);
SELECT id, made, twice, thrice, fence, name_of(written) FROM doc;
SELECT relation, verdict FROM fencing.prove_guard('doc');
SELECT severity, gap FROM fencing.enforcement_gaps();

-- An inline column that may not be NULL, by a constraint that is checked for new rows alone.
ALTER TABLE doc ADD CONSTRAINT needed NOT NULL fence NOT VALID;
SELECT severity, gap, detail FROM fencing.enforcement_gaps();
ALTER TABLE doc DROP CONSTRAINT needed;
SELECT severity, gap FROM fencing.enforcement_gaps();
SELECT try($$SELECT fencing.unprotect('doc')$$);
ALTER TABLE doc ADD CONSTRAINT needed NOT NULL fence NOT VALID;
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a', present_column => 'fence')$$);
DROP TABLE doc;
