-- Every object of the extension: a change of this list is a change for users.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/include/helpers.sql'
\i :helpers
\set ECHO all

-- Later versions of PostgreSQL count array and row types among the members too.
CREATE VIEW member AS
SELECT d.classid, d.objid, i.type, i.identity
  FROM pg_depend AS d
 CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, 0) AS i
 WHERE d.refclassid = 'pg_extension'::regclass
   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'fencing')
   AND d.deptype = 'e'
   AND (d.classid <> 'pg_type'::regclass OR EXISTS (SELECT FROM pg_enum AS e WHERE e.enumtypid = d.objid));

SELECT type || ' ' || identity FROM member ORDER BY type COLLATE "C", identity COLLATE "C";

-- What they take and return.
SELECT format('%s(%s) -> %s', p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid))
  FROM pg_proc AS p JOIN member AS m ON m.objid = p.oid AND m.classid = 'pg_proc'::regclass
 WHERE p.prorettype <> 'trigger'::regtype
 ORDER BY p.proname COLLATE "C", p.pronargs, pg_get_function_arguments(p.oid) COLLATE "C";
SELECT format('%s: %s', t.oid::regtype, string_agg(e.enumlabel, ' ' ORDER BY e.enumsortorder))
  FROM pg_type AS t JOIN pg_enum AS e ON e.enumtypid = t.oid JOIN member AS m ON m.objid = t.oid
 GROUP BY t.oid ORDER BY t.oid::regtype::text COLLATE "C";

-- None is STRICT or LEAKPROOF; SECURITY DEFINER is only what looks at things that not all may see. What else they promise the planner:
SELECT p.oid::regprocedure FROM pg_proc AS p JOIN member AS m ON m.objid = p.oid AND m.classid = 'pg_proc'::regclass
 WHERE p.proisstrict OR p.prosecdef OR p.proleakproof;
SELECT v.provolatile || ' ' || v.proparallel || ': ' || string_agg(p.proname, ' ' ORDER BY p.proname COLLATE "C")
  FROM pg_proc AS p JOIN member AS m ON m.objid = p.oid AND m.classid = 'pg_proc'::regclass,
       LATERAL (SELECT CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
                       CASE p.proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END) AS v (provolatile, proparallel)
 GROUP BY v.provolatile, v.proparallel ORDER BY 1;

-- The tables: columns, constraints, triggers.
SELECT format('%s.%s %s%s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
              CASE WHEN a.attnotnull THEN ' not null' ELSE '' END)
  FROM pg_attribute AS a JOIN member AS m ON m.objid = a.attrelid AND m.classid = 'pg_class'::regclass
  JOIN pg_class AS c ON c.oid = a.attrelid
 WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind <> 'S'
 ORDER BY a.attrelid::regclass::text COLLATE "C", a.attnum;
SELECT format('%s: %s', c.conname, pg_get_constraintdef(c.oid))
  FROM pg_constraint AS c JOIN member AS m ON m.objid = c.conrelid
 WHERE c.contype <> 'n'
 ORDER BY c.conname COLLATE "C";
SELECT format('%s: %s', t.tgenabled, pg_get_triggerdef(t.oid))
  FROM pg_trigger AS t JOIN member AS m ON m.objid = t.tgrelid
 ORDER BY t.tgrelid::regclass::text COLLATE "C", t.tgname COLLATE "C";

-- All of it survives a crash, and all times are with time zone.
SELECT relname, relpersistence FROM pg_class WHERE relnamespace = 'fencing'::regnamespace AND relpersistence <> 'p';
SELECT a.attrelid::regclass, a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
 WHERE c.relnamespace = 'fencing'::regnamespace AND a.atttypid = 'timestamp'::regtype;

-- Dumped with their rows, sequences included: all but protocol, whose row CREATE EXTENSION makes.
SELECT c.oid::regclass::text || CASE WHEN condition = '' THEN '' ELSE ' ' || condition END
  FROM pg_extension, unnest(extconfig, extcondition) AS x (oid, condition) JOIN pg_class AS c USING (oid)
 WHERE extname = 'fencing' ORDER BY c.oid::regclass::text COLLATE "C";
SELECT count(*) FROM fencing.namespace;
SELECT count(*) FROM fencing.epoch;
SELECT count(*) FROM fencing.protocol;

-- Nothing that a renewal changes is indexed, and its page has room.
SELECT i.indexrelid::regclass, a.attname
  FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
 WHERE i.indrelid = 'fencing.lease'::regclass;
SELECT option_value::int <= 50 FROM pg_class, pg_options_to_table(reloptions)
 WHERE oid = 'fencing.lease'::regclass AND option_name = 'fillfactor';

-- Without a comment: nothing.
SELECT m.type, m.identity FROM member AS m WHERE obj_description(m.objid, m.classid::regclass::name) IS NULL;
SELECT a.attrelid::regclass, a.attname
  FROM pg_attribute AS a JOIN member AS m ON m.objid = a.attrelid JOIN pg_class AS c ON c.oid = a.attrelid
 WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v') AND col_description(a.attrelid, a.attnum) IS NULL;

-- What PUBLIC may do: use the schema, see the guards, call the functions that check for themselves.
CREATE ROLE regress_members_nobody;
SELECT privilege FROM unnest(ARRAY['USAGE', 'CREATE']) AS privilege
 WHERE has_schema_privilege('regress_members_nobody', 'fencing', privilege);
SELECT c.oid::regclass, privilege
  FROM pg_class AS c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS privilege
 WHERE c.relnamespace = 'fencing'::regnamespace AND c.relkind IN ('r', 'p', 'v')
   AND has_table_privilege('regress_members_nobody', c.oid, privilege);
SELECT c.oid::regclass, privilege
  FROM pg_class AS c, unnest(ARRAY['USAGE', 'SELECT', 'UPDATE']) AS privilege
 WHERE c.relnamespace = 'fencing'::regnamespace AND c.relkind = 'S'
   AND has_sequence_privilege('regress_members_nobody', c.oid, privilege);
SELECT may || ': ' || string_agg(p.proname, ' ' ORDER BY p.proname COLLATE "C")
  FROM pg_proc AS p, LATERAL (SELECT CASE WHEN has_function_privilege('regress_members_nobody', p.oid, 'EXECUTE') THEN 'may' ELSE 'may not' END) AS x (may)
 WHERE p.pronamespace = 'fencing'::regnamespace
 GROUP BY may ORDER BY may;
DROP ROLE regress_members_nobody;

-- The settings, and who may change them.
LOAD 'fencing';
SELECT name, context, vartype, boot_val FROM pg_settings WHERE name ~ '^fencing[.]' AND name !~ 'test' ORDER BY name COLLATE "C";
SELECT try('SET fencing.no_such_setting = 1');
