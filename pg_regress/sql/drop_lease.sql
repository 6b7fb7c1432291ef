-- drop_lease and purge_leases: a lease goes; the order of its tokens and what became of its terms stays.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s')$$);
SELECT try($$SELECT fencing.create_namespace('lax', ttl => '30 s', on_expiry => 'accept_until_superseded')$$);
SELECT try($$SELECT fencing.create_namespace('calm', ttl => '30 s', min_hold => '1 min', cool_down => '1 min')$$);
CREATE TABLE doc (body text);
CREATE TABLE doc_lax (body text);
SELECT try($$SELECT fencing.protect('doc', 'jobs', 'a')$$);
SELECT try($$SELECT fencing.protect('doc_lax', 'lax', 'a')$$);
CREATE FUNCTION write(name text, target text DEFAULT 'doc') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM present(name);
    RETURN split_part(try(format('INSERT INTO %I VALUES (%L)', target, name)), E'\n', 1);
END
$$;
CREATE FUNCTION how(name text, OUT reason text, OUT by_someone boolean, OUT superseded boolean) LANGUAGE sql AS
    'SELECT t.end_reason, t.ended_by IS NOT NULL, t.superseded_by IS NOT NULL FROM fencing.term AS t WHERE t.token = token($1)';

SELECT status FROM fencing.drop_lease('jobs', 'a');
-- Held: its term ends as deleted.
SELECT take('a');
SELECT status FROM fencing.drop_lease('jobs', 'a');
SELECT status FROM fencing.drop_lease('jobs', 'a');
SELECT status FROM fencing.check_token(token('a'));
SELECT status FROM fencing.renew(token('a'));
SELECT status FROM fencing.release(token('a'));
SELECT write('a');
SELECT * FROM how('a');
SELECT state FROM fencing.inspect('jobs', 'a');
SELECT (SELECT count(*) FROM fencing.lease) AS leases, (SELECT count(*) FROM fencing.fence) AS fences, (SELECT count(*) FROM fencing.term) AS terms;
SELECT kind, key, name_of(token) AS term FROM fencing.event;
-- Granted anew, its tokens go on.
SELECT take('b');
SELECT token('b') > token('a');
SELECT write('a');
SELECT write('b');
SELECT * FROM how('a');
SELECT status FROM fencing.check_token(token('a'));
-- Ended before: the end stays what it was.
SELECT status FROM fencing.release(token('b'));
SELECT status FROM fencing.drop_lease('jobs', 'a');
SELECT status FROM fencing.check_token(token('b'));
SELECT take('c');
SET fencing.test_clock_offset = '31 s';
SELECT status FROM fencing.drop_lease('jobs', 'a');
RESET fencing.test_clock_offset;
SELECT status FROM fencing.check_token(token('c'));
SELECT write('c');
SELECT * FROM how('c');
-- Superseded after that, it stays superseded, whatever becomes of its successor.
SELECT take('d');
SELECT status FROM fencing.check_token(token('c'));
SELECT status FROM fencing.drop_lease('jobs', 'a');
SELECT status FROM fencing.check_token(token('c'));
SELECT * FROM how('c');
-- A lapsed term that may still write ends with its lease.
SELECT take('l', 'a', 'lax');
SET fencing.test_clock_offset = '31 s';
SELECT write('l', 'doc_lax');
SELECT status FROM fencing.drop_lease('lax', 'a');
SELECT write('l', 'doc_lax');
RESET fencing.test_clock_offset;
SELECT status FROM fencing.check_token(token('l'));
-- Announced to be revoked: so it was, if its time had come.
SELECT take('r', 'r');
SELECT status FROM fencing.revoke('jobs', 'r', 'soon', '5 s');
SET fencing.test_clock_offset = '6 s';
SELECT status FROM fencing.drop_lease('jobs', 'r');
RESET fencing.test_clock_offset;
SELECT status FROM fencing.check_token(token('r'));
SELECT * FROM how('r');
-- The writer of an open transaction is in its way, this one included.
SELECT take('e');
BEGIN;
SELECT write('e');
SELECT status FROM fencing.drop_lease('jobs', 'a');
COMMIT;
BEGIN;
SELECT status FROM fencing.drop_lease('jobs', 'a');
SELECT write('e');
ROLLBACK;
SELECT status FROM fencing.check_token(token('e'));
BEGIN;
SAVEPOINT s;
SELECT status FROM fencing.drop_lease('jobs', 'a');
ROLLBACK TO s;
SELECT write('e');
COMMIT;
SELECT status FROM fencing.release(token('e'));

-- purge: nothing that is held, nor over for less than was asked for.
SELECT fencing.purge_leases('0');
SELECT take('p1', 'p1'), take('p2', 'p2'), take('p3', 'p3'), take('p4', 'p4', 'calm'), take('p5', 'p5', 'calm'), take('p6', 'a', 'lax');
SELECT fencing.purge_leases('0');
SELECT status FROM fencing.release(token('p1'));
SELECT status FROM fencing.revoke('jobs', 'p2', 'x');
SELECT fencing.purge_leases('1 min');
SET fencing.test_clock_offset = '59 s';
SELECT fencing.purge_leases('1 min');
SELECT key FROM fencing.lease ORDER BY key COLLATE "C";
-- Two are over for a minute; the third lapsed half a minute ago.
SET fencing.test_clock_offset = '61 s';
SELECT fencing.purge_leases('1 min');
SELECT key FROM fencing.lease ORDER BY key COLLATE "C";
SELECT name, status, reason, by_someone FROM unnest(ARRAY['p1', 'p2', 'p3']) AS name, fencing.check_token(token(name)) AS status, how(name);
-- As long as a lease is kept back, it stays: p5 lapsed after 30 s, and cools down for a minute.
SELECT fencing.purge_leases('20 s');
SELECT key FROM fencing.lease ORDER BY key COLLATE "C";
SET fencing.test_clock_offset = '92 s';
SELECT fencing.purge_leases('20 s');
SELECT count(*) FROM fencing.lease;
RESET fencing.test_clock_offset;
SELECT name, status, reason, by_someone FROM unnest(ARRAY['p1', 'p2', 'p3', 'p4', 'p5', 'p6']) AS name, fencing.check_token(token(name)) AS status, how(name);
SELECT kind, key, detail FROM fencing.event WHERE kind = 'leases_purged' ORDER BY id;
-- A request that was answered grants nothing again.
SELECT status FROM fencing.acquire('jobs', 'q', 'q', request_id => '00000000-0000-0000-0000-000000000001');
SELECT status FROM fencing.drop_lease('jobs', 'q');
SELECT status FROM fencing.acquire('jobs', 'q', 'q', request_id => '00000000-0000-0000-0000-000000000001');
-- A namespace that is dropped closes its terms likewise.
SELECT take('n', 'n', 'calm');
SET fencing.test_clock_offset = '31 s';
SELECT try($$SELECT fencing.drop_namespace('calm')$$);
RESET fencing.test_clock_offset;
SELECT status FROM fencing.check_token(token('n'));
SELECT * FROM how('n');

-- Who may: administer; a purge leaves other people's namespaces alone.
CREATE ROLE regress_drop_anna;
SELECT try($$SELECT fencing.create_namespace('hers', ttl => '30 s')$$);
SELECT try($$SELECT fencing.grant_namespace('hers', 'regress_drop_anna', 'administer')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_drop_anna', 'hold')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_drop_anna', 'observe')$$);
SELECT take('h', 'h', 'hers'), take('j', 'j');
SELECT name, status FROM unnest(ARRAY['h', 'j']) AS name, fencing.release(token(name)) AS status;
SET ROLE regress_drop_anna;
SELECT try($$SELECT fencing.drop_lease('jobs', 'j')$$);
SELECT fencing.purge_leases('0');
RESET ROLE;
SELECT key FROM fencing.lease ORDER BY key COLLATE "C";
SELECT try($$SELECT fencing.drop_namespace('hers')$$);
DROP ROLE regress_drop_anna;

-- Bad arguments.
SELECT try($$SELECT fencing.drop_lease(NULL, 'a')$$);
SELECT try($$SELECT fencing.drop_lease('jobs', NULL)$$);
SELECT try($$SELECT fencing.drop_lease('jobs', '')$$);
SELECT try($$SELECT fencing.drop_lease('job', 'a')$$);
SELECT try($$SELECT fencing.purge_leases(NULL)$$);
SELECT try($$SELECT fencing.purge_leases('-1 s')$$);
SELECT try($$SELECT fencing.purge_leases('1 month')$$);
BEGIN READ ONLY;
SELECT try($$SELECT fencing.drop_lease('jobs', 'a')$$);
SELECT try($$SELECT fencing.purge_leases('0')$$);
ROLLBACK;
