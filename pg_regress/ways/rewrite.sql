-- way: CLUSTER, VACUUM FULL, ALTER TABLE that rewrites the table
-- PostgreSQL: copies the rows into a new file without firing any trigger; the table keeps its triggers
-- fencing: nobody's row changes; the next write is refused as before: LF001
-- area: DDL
-- without: row+statement
CREATE TABLE doc (id int PRIMARY KEY, body text);
INSERT INTO doc VALUES (1, 'before');
CALL guard('doc');
CALL takeover();
CLUSTER doc USING doc_pkey;
VACUUM FULL doc;
ALTER TABLE doc ADD added int GENERATED ALWAYS AS IDENTITY;
SELECT rightful($$UPDATE doc SET body = 'rightful'$$);
SELECT stale($$UPDATE doc SET body = 'stale'$$);
SELECT * FROM doc;
