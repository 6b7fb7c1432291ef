-- The extension's own tables: the functions are the only way to change them.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs')$$);
SELECT take('a');
CREATE FUNCTION attempts() RETURNS TABLE (relation regclass, refused text) LANGUAGE plpgsql AS $$
BEGIN
    FOR relation IN SELECT c.oid::regclass FROM pg_class AS c WHERE relnamespace = 'fencing'::regnamespace AND relkind = 'r' ORDER BY relname LOOP
        refused := (SELECT string_agg(left(try(format(statement, relation, (SELECT attname FROM pg_attribute WHERE attrelid = relation ORDER BY attnum DESC LIMIT 1))), 5), ' ')
                      FROM unnest(ARRAY['UPDATE %s SET %s = NULL WHERE false', 'DELETE FROM %s WHERE false', 'TRUNCATE %s', 'MERGE INTO %1$s USING (VALUES (1)) AS v ON false WHEN MATCHED THEN DELETE']) AS statement);
        RETURN NEXT;
    END LOOP;
END
$$;
-- Refused to a superuser, to the owner, and in replica mode: UPDATE, DELETE, TRUNCATE, MERGE.
SELECT try('DELETE FROM fencing.fence');
SELECT * FROM attempts();
SET session_replication_role = replica;
SELECT * FROM attempts();
RESET session_replication_role;
SELECT try('TRUNCATE fencing.fence, fencing.lease, fencing.term');
SELECT try($$INSERT INTO fencing.fence SELECT * FROM fencing.fence ON CONFLICT (namespace, key) DO UPDATE SET token = 0$$);

-- Everyone else can't even look.
CREATE ROLE regress_own_anna;
SET ROLE regress_own_anna;
SELECT left(try(format('SELECT * FROM fencing.%I', name)), 5)
  FROM unnest(ARRAY['namespace', 'member', 'lease', 'fence', 'term', 'request', 'epoch', 'event', 'guarded', 'coordinator', 'remote_fence', 'remote_use', 'fence_floor', 'protocol']) AS name;
SELECT left(try('INSERT INTO fencing.protocol VALUES (2)'), 5);
SELECT left(try($$SELECT nextval('fencing.term_seq')$$), 5), left(try($$SELECT setval('fencing.term_seq', 1)$$), 5), left(try('SELECT last_value FROM fencing.term_seq'), 5);
SELECT count(*) FROM fencing.guards;
RESET ROLE;
-- Nor may who writes all data: an inserted row could open an epoch.
GRANT pg_write_all_data TO regress_own_anna;
SET ROLE regress_own_anna;
SELECT try($$INSERT INTO fencing.epoch VALUES (16000000, '00000000-0000-4000-8000-000000000001', now(), 'mine', 10, 1, 1, 1, '', '0/0', 'open', 0)$$);
SELECT left(try($$INSERT INTO fencing.member VALUES (1, 'regress_own_anna', 'administer')$$), 5), left(try('INSERT INTO fencing.protocol VALUES (2)'), 5);
RESET ROLE;
DROP ROLE regress_own_anna;

-- INSERT is free: that is how a dump is restored.
BEGIN;
SELECT try($$INSERT INTO fencing.fence SELECT namespace, 'restored', token, advanced_by FROM fencing.fence$$);
ROLLBACK;

-- What the functions do passes: none of it was refused above, nor changed.
SELECT status FROM fencing.renew(token('a'));
SELECT status FROM fencing.release(token('a'));
SELECT count(*) FROM fencing.fence;
SELECT count(*) FROM fencing.term;
