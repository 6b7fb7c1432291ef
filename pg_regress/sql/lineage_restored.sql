-- Rows that were restored without what belongs to them: a fence, or a term, above everything that the
-- sequence draws. Nothing is granted below it.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('first');
-- A fence keeps its own lease from being granted.
INSERT INTO fencing.fence SELECT namespace, 'b', token + 1000, advanced_by FROM fencing.fence;
SELECT status FROM fencing.acquire('jobs', 'b', 'x');
SELECT status FROM fencing.acquire('jobs', 'c', 'x');
SELECT verdict FROM fencing.lineage();
-- A term keeps every lease from it: here one of an epoch that was never opened.
INSERT INTO fencing.term SELECT token + (1::bigint << 39), namespace, 'd', epoch + 1, seq, holder, role, request_id, purpose, acquired_at, last_renewed_at, expires_at
  FROM fencing.term WHERE token = token('first');
SELECT status FROM fencing.acquire('jobs', 'b', 'x');
SELECT status FROM fencing.acquire('jobs', 'e', 'x');
SELECT verdict FROM fencing.lineage();
SELECT count(*) FROM fencing.lease;
SELECT status FROM fencing.renew(token('first'));
