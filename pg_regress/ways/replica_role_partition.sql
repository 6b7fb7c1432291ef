-- way: SET session_replication_role = replica, and a partition: one that was there, a new one, an attached one
-- PostgreSQL: gives a cloned trigger the setting of its parent's when it is cloned
-- fencing: refused, LF001: ENABLE ALWAYS on every clone
-- area: replication
-- without: always, apply_worker
CREATE TABLE item (owner text, id int, body text) PARTITION BY RANGE (id);
CREATE TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (10);
INSERT INTO item VALUES ('a', 1, 'before');
CALL guard('item', key_columns => '{owner}');
CREATE TABLE item_2 PARTITION OF item FOR VALUES FROM (10) TO (20);
CREATE TABLE item_3 (owner text, id int, body text);
ALTER TABLE item ATTACH PARTITION item_3 FOR VALUES FROM (20) TO (30);
SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE tgname ~ 'fencing' AND tgenabled <> 'A';
CALL takeover();
SET session_replication_role = replica;
SELECT rightful($$INSERT INTO item SELECT 'a', n, 'rightful' FROM generate_series(2, 29, 10) AS n$$);
SELECT stale($$UPDATE item_1 SET body = 'stale'$$);
SELECT stale($$UPDATE item_2 SET body = 'stale'$$);
SELECT stale($$UPDATE item_3 SET body = 'stale'$$);
SELECT * FROM item ORDER BY id;
