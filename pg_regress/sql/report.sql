-- report: a holder's or an operator's own evidence, kept apart from what the extension itself saw.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

SELECT try($$SELECT fencing.create_namespace('jobs', ttl => '30 s')$$);
CREATE ROLE regress_report_anna;
CREATE ROLE regress_report_bert;
CREATE ROLE regress_report_carl IN ROLE regress_report_anna;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_report_anna', 'hold')$$);
SET ROLE regress_report_anna;
SELECT take('anna');
SELECT try($$SELECT fencing.report({anna}, 'renewal_indeterminate', '{"attempts": 3}')$$);
-- It changes nothing about the term, and may come late.
SELECT status FROM fencing.check_token(token('anna'));
SELECT status FROM fencing.release(token('anna'));
SELECT try($$SELECT fencing.report({anna}, 'worker_stopped', '{}')$$);
-- A member counts as the role; others need administer.
SET ROLE regress_report_carl;
SELECT try($$SELECT fencing.report({anna}, 'revoked', '"says its holder"')$$);
SET ROLE regress_report_bert;
SELECT try($$SELECT fencing.report({anna}, 'worker_stopped', '{}')$$);
RESET ROLE;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_report_bert', 'hold')$$);
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_report_bert', 'observe')$$);
SET ROLE regress_report_bert;
SELECT split_part(try($$SELECT fencing.report({anna}, 'worker_stopped', '{}')$$), E'\n', 1);
RESET ROLE;
SELECT try($$SELECT fencing.grant_namespace('jobs', 'regress_report_bert', 'administer')$$);
SET ROLE regress_report_bert;
SELECT try($$SELECT fencing.report({anna}, 'host_is_down', '{"seen": "by me"}')$$);
RESET ROLE;
SELECT kind, key, name_of(token), actor::regrole, detail, reported FROM fencing.event ORDER BY id;
-- Large details are kept whole, too large ones refused.
SELECT try(format('SELECT fencing.report({anna}, %L, %L)', 'large', jsonb_build_object('a', repeat('x', 8000))));
SELECT octet_length(detail ->> 'a') FROM fencing.event WHERE kind = 'large';
CREATE TABLE stored AS SELECT jsonb_build_object('a', string_agg(md5(n::text), '')) AS detail FROM generate_series(1, 200) AS n;
SELECT try($$SELECT fencing.report({anna}, 'stored', detail) FROM stored$$);
SELECT e.detail = s.detail FROM fencing.event AS e, stored AS s WHERE kind = 'stored';
SELECT try(format('SELECT fencing.report({anna}, %L, %L)', 'large', jsonb_build_object('a', repeat('x', 8192))));
-- Bad arguments.
SELECT try($$SELECT fencing.report(NULL, 'a', '{}')$$);
SELECT try($$SELECT fencing.report({anna}, NULL, '{}')$$);
SELECT try($$SELECT fencing.report({anna}, 'a', NULL)$$);
SELECT try($$SELECT fencing.report({anna}, 'Worker stopped', '{}')$$);
SELECT try($$SELECT fencing.report({anna}, '', '{}')$$);
SELECT try($$SELECT fencing.report(0, 'a', '{}')$$);
SELECT try($$SELECT fencing.report(42, 'a', '{}')$$);
SELECT left(try(format('SELECT fencing.report(%s, %L, %L)', fencing.make_token(1, 1), 'a', '{}')), 18);
BEGIN READ ONLY;
SELECT try($$SELECT fencing.report({anna}, 'a', '{}')$$);
ROLLBACK;
DROP ROLE regress_report_anna, regress_report_bert, regress_report_carl;
