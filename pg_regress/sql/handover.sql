-- request_handover: others may ask; the holder decides.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s')$$);

-- Nobody holds it.
SELECT fencing.request_handover('jobs', 'a');
SELECT take('a');
SELECT status, handover_requested FROM fencing.renew(token('a'));
-- Asked, its holder hears of it with every renewal; asked again, nothing more happens.
SELECT fencing.request_handover('jobs', 'a');
SELECT fencing.request_handover('jobs', 'a');
SELECT status, handover_requested FROM fencing.renew(token('a'));
SELECT status, handover_requested FROM fencing.renew(token('a'));
SELECT kind, key, name_of(token), detail FROM fencing.event;
SELECT status FROM fencing.release(token('a'));
SELECT fencing.request_handover('jobs', 'a');
-- The next holder was not asked.
SELECT take('b');
SELECT status, handover_requested FROM fencing.renew(token('b'));
-- Run out, it is nobody's.
SET fencing.test_clock_offset = '31 s';
SELECT fencing.request_handover('jobs', 'a');
RESET fencing.test_clock_offset;

-- Who may: whoever may hold, and administrators. Not in a block, which would keep the holder from renewing.
CREATE ROLE regress_handover_anna;
CREATE ROLE regress_handover_bert;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_handover_anna', 'hold')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_handover_bert', 'observe')$$);
SET ROLE regress_handover_bert;
SELECT try($$SELECT fencing.request_handover('jobs', 'a')$$);
RESET ROLE;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_handover_bert', 'administer')$$);
SET ROLE regress_handover_bert;
SELECT fencing.request_handover('jobs', 'a');
SET ROLE regress_handover_anna;
SELECT fencing.request_handover('jobs', 'a');
SELECT try($$SELECT fencing.request_handover('jobs', 'a')$$);
BEGIN;
SELECT try($$SELECT fencing.request_handover('jobs', 'a')$$);
COMMIT;
RESET ROLE;
DROP ROLE regress_handover_anna, regress_handover_bert;

-- Bad arguments.
SELECT try($$SELECT fencing.request_handover(NULL, 'a')$$);
SELECT try($$SELECT fencing.request_handover('jobs', NULL)$$);
SELECT try($$SELECT fencing.request_handover('jobs', '')$$);
SELECT try($$SELECT fencing.request_handover('job', 'a')$$);
