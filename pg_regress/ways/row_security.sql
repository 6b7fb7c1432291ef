-- way: row-level security, which adds its own conditions to a statement
-- PostgreSQL: checks its policies after the BEFORE triggers, and not for owners
-- fencing: refused, LF001; the guard reads its own tables below SQL, so no policy hides anything from it
-- area: detours
-- without: row
CREATE TABLE item (owner text, id int, body text);
INSERT INTO item VALUES ('a', 1, 'before'), ('a', 2, 'hidden');
CREATE ROLE regress_way_policy;
GRANT ALL ON item TO regress_way_policy;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY shown ON item USING (id < 2) WITH CHECK (id < 10);
CALL guard('item', key_columns => '{owner}');
SELECT fencing.grant_namespace('jobs', 'regress_way_policy', 'hold');
SET ROLE regress_way_policy;
CALL takeover();
SELECT rightful($$UPDATE item SET body = 'rightful'$$);
SELECT stale($$UPDATE item SET body = 'stale'$$);
SELECT stale($$INSERT INTO item VALUES ('a', 3, 'stale')$$);
RESET ROLE;
SELECT * FROM item ORDER BY id;
DROP OWNED BY regress_way_policy;
DROP ROLE regress_way_policy;
