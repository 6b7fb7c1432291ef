-- What is left open: every gap in this database's guards, and what mends it. The internal functions
-- run within enforcement_gaps alone, with its rights and its search path.

CREATE FUNCTION fencing.base_type(type oid)
    RETURNS oid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH RECURSIVE d AS (
        SELECT t.oid, t.typtype, t.typbasetype FROM pg_catalog.pg_type AS t WHERE t.oid OPERATOR(pg_catalog.=) $1
        UNION ALL
        SELECT t.oid, t.typtype, t.typbasetype
          FROM d JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) d.typbasetype
         WHERE d.typtype OPERATOR(pg_catalog.=) 'd'
    )
    SELECT d.oid FROM d WHERE d.typtype OPERATOR(pg_catalog.<>) 'd'
$$;
COMMENT ON FUNCTION fencing.base_type(oid) IS 'Internal: what a domain is made of; any other type itself';

CREATE FUNCTION fencing.qualified_name(relation oid)
    RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)
      FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
     WHERE c.oid OPERATOR(pg_catalog.=) $1
$$;
COMMENT ON FUNCTION fencing.qualified_name(oid) IS 'Internal: a table''s name with its schema, quoted, whatever the search path';

CREATE FUNCTION fencing.guard_triggers()
    RETURNS TABLE (relation oid, trigger oid, name name, kind text, enabled "char", clone boolean, whole boolean,
                   namespace text, key text, key_columns text[], token_column text, present_column text,
                   on_missing text, mode text, level text, coordinator text)
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT t.tgrelid, t.oid, t.tgname, k.kind, t.tgenabled, t.tgparentid OPERATOR(pg_catalog.<>) 0,
           t.tgtype OPERATOR(pg_catalog.=) k.type AND t.tgqual IS NULL AND t.tgattr::pg_catalog.text OPERATOR(pg_catalog.=) '',
           d.namespace, d.key, d.key_columns, d.token_column, d.present_column, d.on_missing, d.mode, d.level, d.coordinator
      FROM (VALUES ('row', 'fencing.guard_row'::pg_catalog.regproc, 31),
                   ('statement', 'fencing.guard_statement'::pg_catalog.regproc, 30),
                   ('truncate', 'fencing.guard_truncate'::pg_catalog.regproc, 34)) AS k (kind, function, type)
      JOIN pg_catalog.pg_trigger AS t ON t.tgfoid OPERATOR(pg_catalog.=) k.function
     CROSS JOIN LATERAL fencing.guard_definition(t.tgargs) AS d
$$;
COMMENT ON FUNCTION fencing.guard_triggers() IS
    'Internal: every trigger of every guard; whole: it fires before all that it should, without a condition';

CREATE FUNCTION fencing.guard_tables()
    RETURNS TABLE (relation oid, root oid, place text, name text, root_name text, armed boolean,
                   namespace text, key text, key_columns text[], token_column text, present_column text,
                   on_missing text, mode text, level text, coordinator text)
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH RECURSIVE declared AS (
        -- What is recorded of a table's name counts, then what its triggers say.
        SELECT 1 AS source, c.oid AS relation, d.namespace, d.key, d.key_columns, d.token_column, d.present_column,
               d.on_missing, d.mode, d.level, d.coordinator
          FROM fencing.guarded AS r
          JOIN pg_catalog.pg_namespace AS n ON n.nspname OPERATOR(pg_catalog.=) r.schema
          JOIN pg_catalog.pg_class AS c ON c.relnamespace OPERATOR(pg_catalog.=) n.oid AND c.relname OPERATOR(pg_catalog.=) r.name
         CROSS JOIN LATERAL fencing.guard_definition(r.definition) AS d
         WHERE c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'p']::pg_catalog."char"[])
        UNION ALL
        SELECT 2, t.relation, t.namespace, t.key, t.key_columns, t.token_column, t.present_column,
               t.on_missing, t.mode, t.level, t.coordinator
          FROM fencing.guard_triggers() AS t
    ), definition AS (
        SELECT DISTINCT ON (d.relation) d.* FROM declared AS d ORDER BY d.relation, d.namespace IS NULL, d.source
    ), up AS (
        SELECT d.relation, d.relation AS ancestor FROM definition AS d
        UNION
        SELECT up.relation, i.inhparent FROM up JOIN pg_catalog.pg_inherits AS i ON i.inhrelid OPERATOR(pg_catalog.=) up.ancestor
    ), root AS (
        SELECT d.* FROM definition AS d
         WHERE NOT EXISTS (SELECT FROM up JOIN definition AS above ON above.relation OPERATOR(pg_catalog.=) up.ancestor
                            WHERE up.relation OPERATOR(pg_catalog.=) d.relation AND up.ancestor OPERATOR(pg_catalog.<>) d.relation)
    ), tree AS (
        SELECT r.relation AS root, r.relation FROM root AS r
        UNION
        SELECT tree.root, i.inhrelid FROM tree JOIN pg_catalog.pg_inherits AS i ON i.inhparent OPERATOR(pg_catalog.=) tree.relation
    )
    SELECT c.oid, tree.root,
           CASE WHEN c.oid OPERATOR(pg_catalog.=) tree.root THEN 'table' WHEN c.relispartition THEN 'partition' ELSE 'child' END,
           fencing.qualified_name(c.oid), fencing.qualified_name(tree.root),
           EXISTS (SELECT FROM declared AS d WHERE d.relation OPERATOR(pg_catalog.=) tree.root AND d.source OPERATOR(pg_catalog.=) 2),
           r.namespace, r.key, r.key_columns, r.token_column, r.present_column, r.on_missing, r.mode, r.level, r.coordinator
      FROM tree
      JOIN root AS r ON r.relation OPERATOR(pg_catalog.=) tree.root
      JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) tree.relation
     -- A temporary child is its own session's alone.
     WHERE c.relpersistence OPERATOR(pg_catalog.<>) 't'
$$;
COMMENT ON FUNCTION fencing.guard_tables() IS
    'Internal: every table that is or should be guarded, the table through which it is (armed: with any trigger left), and the guard that it should have';

CREATE FUNCTION fencing.gaps_in_triggers()
    RETURNS TABLE (relation oid, severity text, gap text, detail text, remedy text)
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH tables AS (
        SELECT t.*,
               pg_catalog.format(CASE WHEN t.level OPERATOR(pg_catalog.=) 'statement' AND pg_catalog.count(*) OVER (PARTITION BY t.root) OPERATOR(pg_catalog.>) 1
                                      THEN 'SELECT fencing.alter_guard(%L, level => ''row'');'
                                      ELSE 'SELECT fencing.alter_guard(%L);' END, t.root_name) AS mend,
               EXISTS (SELECT FROM pg_catalog.pg_class AS c
                        WHERE c.oid OPERATOR(pg_catalog.=) t.relation AND c.relkind OPERATOR(pg_catalog.=) 'f') AS is_foreign
          FROM fencing.guard_tables() AS t
    ), triggers AS (
        SELECT g.* FROM fencing.guard_triggers() AS g
    ), leftover AS (
        -- Below a table that has lost every trigger: guards that must go before it can be protected.
        SELECT t.root, pg_catalog.string_agg(pg_catalog.format('SELECT fencing.unprotect(%L); ', t.name), '' ORDER BY t.name) AS remedy
          FROM tables AS t
         WHERE NOT t.armed AND EXISTS (SELECT FROM triggers AS g WHERE g.relation OPERATOR(pg_catalog.=) t.relation)
           AND NOT EXISTS (
               WITH RECURSIVE up AS (
                   SELECT i.inhparent FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid OPERATOR(pg_catalog.=) t.relation
                   UNION
                   SELECT i.inhparent FROM up JOIN pg_catalog.pg_inherits AS i ON i.inhrelid OPERATOR(pg_catalog.=) up.inhparent
               )
               SELECT FROM up JOIN triggers AS g ON g.relation OPERATOR(pg_catalog.=) up.inhparent)
         GROUP BY t.root
    ), wanted AS (
        SELECT t.relation, t.place, t.name, t.root_name, t.mend, k.kind, g.name AS trigger, g.enabled, g.whole,
               EXISTS (SELECT FROM triggers AS any_kind WHERE any_kind.relation OPERATOR(pg_catalog.=) t.relation) AS has_some
          FROM tables AS t
          JOIN (VALUES ('row'), ('statement'), ('truncate')) AS k (kind)
            ON k.kind OPERATOR(pg_catalog.=) 'row' AND t.level IS DISTINCT FROM 'statement'
            OR k.kind OPERATOR(pg_catalog.=) 'statement' AND t.key IS NOT NULL
            OR k.kind OPERATOR(pg_catalog.=) 'truncate'
          LEFT JOIN LATERAL (SELECT g.* FROM triggers AS g WHERE g.relation OPERATOR(pg_catalog.=) t.relation AND g.kind OPERATOR(pg_catalog.=) k.kind
                              ORDER BY g.enabled OPERATOR(pg_catalog.=) 'A' AND g.whole DESC, g.enabled OPERATOR(pg_catalog.=) 'A' DESC, g.trigger LIMIT 1) AS g ON true
         WHERE t.armed AND NOT t.is_foreign
    )
    SELECT t.relation, 'open', 'foreign_table',
           pg_catalog.format('%s is a foreign table below %s, which no guard covers', t.name, t.root_name),
           pg_catalog.format(CASE t.place WHEN 'partition' THEN 'ALTER TABLE %2$s DETACH PARTITION %1$s;'
                                          ELSE 'ALTER FOREIGN TABLE %1$s NO INHERIT %2$s;' END,
                             t.name, fencing.qualified_name(i.inhparent))
      FROM tables AS t JOIN pg_catalog.pg_inherits AS i ON i.inhrelid OPERATOR(pg_catalog.=) t.relation
     WHERE t.is_foreign
    UNION ALL
    SELECT t.relation, 'open', 'unguarded',
           pg_catalog.format('%s is recorded as guarded, but no trigger of its guard is left', t.name),
           COALESCE(l.remedy, '')
           OPERATOR(pg_catalog.||) pg_catalog.format('SELECT fencing.protect(%L, %L', t.name, t.namespace)
           OPERATOR(pg_catalog.||) CASE WHEN t.key IS NOT NULL THEN pg_catalog.format(', key => %L', t.key) ELSE pg_catalog.format(', key_columns => %L', t.key_columns) END
           OPERATOR(pg_catalog.||) CASE WHEN t.token_column IS NULL THEN '' ELSE pg_catalog.format(', token_column => %L', t.token_column) END
           OPERATOR(pg_catalog.||) CASE WHEN t.present_column IS NULL THEN '' ELSE pg_catalog.format(', present_column => %L', t.present_column) END
           OPERATOR(pg_catalog.||) CASE WHEN t.coordinator IS NULL THEN '' ELSE pg_catalog.format(', fence => ''destination'', coordinator => %L', t.coordinator) END
           OPERATOR(pg_catalog.||) CASE WHEN t.on_missing OPERATOR(pg_catalog.=) 'admit' THEN ', on_missing => ''admit''' ELSE '' END
           OPERATOR(pg_catalog.||) CASE WHEN t.mode OPERATOR(pg_catalog.=) 'observe' THEN ', mode => ''observe''' ELSE '' END
           OPERATOR(pg_catalog.||) CASE WHEN t.level OPERATOR(pg_catalog.=) 'statement' THEN ', level => ''statement''' ELSE '' END OPERATOR(pg_catalog.||) ');'
      FROM tables AS t LEFT JOIN leftover AS l ON l.root OPERATOR(pg_catalog.=) t.root
     WHERE NOT t.armed AND t.place OPERATOR(pg_catalog.=) 'table'
    UNION ALL
    SELECT w.relation, 'open',
           CASE WHEN w.trigger IS NULL THEN CASE WHEN w.has_some THEN 'trigger_missing' ELSE w.place OPERATOR(pg_catalog.||) '_unguarded' END
                WHEN w.enabled OPERATOR(pg_catalog.=) 'D' THEN 'trigger_disabled'
                WHEN w.enabled OPERATOR(pg_catalog.<>) 'A' THEN 'trigger_downgraded'
                ELSE 'trigger_changed' END,
           CASE WHEN w.trigger IS NULL
                THEN pg_catalog.format('%s has no %s trigger of the guard%s', w.name, w.kind,
                         CASE WHEN w.place OPERATOR(pg_catalog.=) 'table' THEN '' ELSE ' of ' OPERATOR(pg_catalog.||) w.root_name END)
                WHEN w.enabled OPERATOR(pg_catalog.=) 'D' THEN pg_catalog.format('trigger %I of %s is disabled', w.trigger, w.name)
                WHEN w.enabled OPERATOR(pg_catalog.=) 'R' THEN pg_catalog.format('trigger %I of %s fires under session_replication_role = replica alone', w.trigger, w.name)
                WHEN w.enabled OPERATOR(pg_catalog.<>) 'A' THEN pg_catalog.format('trigger %I of %s does not fire under session_replication_role = replica', w.trigger, w.name)
                ELSE pg_catalog.format('trigger %I of %s does not fire for everything that it should', w.trigger, w.name) END,
           w.mend
      FROM wanted AS w
     WHERE w.trigger IS NULL OR w.enabled OPERATOR(pg_catalog.<>) 'A' OR NOT w.whole
    UNION ALL
    SELECT t.relation,
           -- One that has joined the tree with a guard of its own keeps it.
           CASE WHEN t.place OPERATOR(pg_catalog.=) 'table' OR pg_catalog.count(DISTINCT ROW(g.namespace, g.key, g.key_columns, g.token_column, g.present_column, g.coordinator)) OPERATOR(pg_catalog.>) 1
                THEN 'weak' ELSE 'note' END,
           'guard_differs',
           pg_catalog.format('triggers of %s have another definition than %s: %s', t.name,
               CASE WHEN t.place OPERATOR(pg_catalog.=) 'table' THEN 'is recorded' ELSE t.root_name END,
               pg_catalog.string_agg(pg_catalog.quote_ident(g.name), ', ' ORDER BY g.name)),
           -- In full: which of its triggers says the right thing, they don't know.
           CASE WHEN t.place OPERATOR(pg_catalog.<>) 'table' THEN t.mend
                ELSE pg_catalog.format('SELECT fencing.alter_guard(%L, %L, %s, token_column => %L, present_column => %L, fence => %s);', t.name, t.namespace,
                         CASE WHEN t.key IS NOT NULL THEN pg_catalog.format('key => %L', t.key)
                              ELSE pg_catalog.format('key_columns => %L', t.key_columns) END,
                         COALESCE(t.token_column, ''), COALESCE(t.present_column, ''),
                         CASE WHEN t.coordinator IS NULL THEN '''lease''' ELSE pg_catalog.format('''destination'', coordinator => %L', t.coordinator) END) END
      FROM tables AS t JOIN triggers AS g ON g.relation OPERATOR(pg_catalog.=) t.relation
     WHERE t.armed AND g.namespace IS NOT NULL
       AND ROW(g.namespace, g.key, g.key_columns, g.token_column, g.present_column, g.coordinator)
           IS DISTINCT FROM ROW(t.namespace, t.key, t.key_columns, t.token_column, t.present_column, t.coordinator)
     GROUP BY t.relation, t.place, t.name, t.root_name, t.mend, t.namespace, t.key, t.key_columns, t.token_column, t.present_column, t.coordinator
    UNION ALL
    SELECT t.relation, 'note', 'closed',
           pg_catalog.format('the arguments of trigger %I of %s are no definition of a guard: every write is refused', g.name, t.name), t.mend
      FROM tables AS t JOIN triggers AS g ON g.relation OPERATOR(pg_catalog.=) t.relation
     WHERE g.namespace IS NULL AND NOT g.clone
    UNION ALL
    SELECT t.relation, 'note', 'trigger_renamed',
           pg_catalog.format('trigger %I of %s has lost its name, which sorts after any that people give', g.name, t.name), t.mend
      FROM tables AS t JOIN triggers AS g ON g.relation OPERATOR(pg_catalog.=) t.relation
     WHERE NOT g.clone AND NOT pg_catalog.starts_with(g.name::pg_catalog.text, '~fencing')
$$;
COMMENT ON FUNCTION fencing.gaps_in_triggers() IS 'Internal: guards that have lost triggers, or whose triggers were changed';

CREATE FUNCTION fencing.gaps_in_definitions()
    RETURNS TABLE (relation oid, severity text, gap text, detail text, remedy text)
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH tables AS (
        SELECT t.* FROM fencing.guard_tables() AS t
    ), triggers AS (
        SELECT t.root, t.place, t.name AS table_name, t.root_name, g.*
          FROM tables AS t JOIN fencing.guard_triggers() AS g ON g.relation OPERATOR(pg_catalog.=) t.relation
    ), kin AS (
        SELECT i.inhrelid AS relation FROM pg_catalog.pg_inherits AS i
        UNION
        SELECT i.inhparent FROM pg_catalog.pg_inherits AS i
        UNION
        SELECT p.partrelid FROM pg_catalog.pg_partitioned_table AS p
    ), used AS (
        SELECT DISTINCT g.relation, g.table_name, u.part, u.name
          FROM triggers AS g
         CROSS JOIN LATERAL (
               SELECT 'key', k.name FROM pg_catalog.unnest(g.key_columns) AS k (name)
               UNION ALL SELECT 'token', g.token_column
               UNION ALL SELECT 'inline', g.present_column) AS u (part, name)
         WHERE u.name IS NOT NULL
    ), unfit AS (
        SELECT u.*, a.attnum,
               CASE WHEN a.attnum IS NULL THEN 'missing'
                    WHEN a.attgenerated OPERATOR(pg_catalog.<>) '' THEN 'generated'
                    WHEN u.part OPERATOR(pg_catalog.=) 'key' AND ty.typtype OPERATOR(pg_catalog.<>) 'e'
                     AND ty.oid OPERATOR(pg_catalog.<>) ALL (ARRAY['pg_catalog.int2', 'pg_catalog.int4', 'pg_catalog.int8',
                             'pg_catalog.text', 'pg_catalog.varchar', 'pg_catalog.uuid']::pg_catalog.regtype[]::pg_catalog.oid[])
                      OR u.part OPERATOR(pg_catalog.<>) 'key' AND a.atttypid OPERATOR(pg_catalog.<>) 'pg_catalog.int8'::pg_catalog.regtype THEN 'type'
                    WHEN u.part OPERATOR(pg_catalog.=) 'inline' AND a.attidentity OPERATOR(pg_catalog.<>) '' THEN 'identity'
                    WHEN u.part OPERATOR(pg_catalog.=) 'inline' AND a.atthasdef THEN 'default'
                    WHEN u.part OPERATOR(pg_catalog.=) 'inline' AND a.attnotnull THEN 'not null' END AS flaw
          FROM used AS u
          LEFT JOIN pg_catalog.pg_attribute AS a
            ON a.attrelid OPERATOR(pg_catalog.=) u.relation AND a.attname OPERATOR(pg_catalog.=) u.name AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
          LEFT JOIN pg_catalog.pg_type AS ty ON ty.oid OPERATOR(pg_catalog.=) fencing.base_type(a.atttypid)
    )
    SELECT DISTINCT g.root, 'open', 'missing_namespace',
           pg_catalog.format('namespace %I of the guard of %s does not exist', g.namespace, g.root_name),
           pg_catalog.format('SELECT fencing.create_namespace(%L);', g.namespace)
      FROM (SELECT g.root, g.root_name, g.namespace FROM triggers AS g WHERE g.coordinator IS NULL
            UNION ALL SELECT t.root, t.root_name, t.namespace FROM tables AS t WHERE t.coordinator IS NULL) AS g
     WHERE NOT EXISTS (SELECT FROM fencing.namespace AS n WHERE n.name OPERATOR(pg_catalog.=) g.namespace) AND g.namespace IS NOT NULL
    UNION ALL
    SELECT DISTINCT g.root, 'open', 'missing_coordinator',
           pg_catalog.format('coordinator %I of the guard of %s does not exist', g.coordinator, g.root_name),
           pg_catalog.format('SELECT fencing.register_coordinator(%L, kind => ''other'', identity => %L);', g.coordinator, '')
      FROM (SELECT g.root, g.root_name, g.coordinator FROM triggers AS g
            UNION ALL SELECT t.root, t.root_name, t.coordinator FROM tables AS t) AS g
     WHERE g.coordinator IS NOT NULL
       AND NOT EXISTS (SELECT FROM fencing.coordinator AS c
                        WHERE c.name OPERATOR(pg_catalog.=) g.coordinator AND c.state OPERATOR(pg_catalog.<>) 'dropped')
    UNION ALL
    SELECT DISTINCT g.relation, 'open', 'statement_level',
           pg_catalog.format('%s is guarded by statement triggers alone, which don''t see what is written through a parent or to a child', g.table_name),
           pg_catalog.format('SELECT fencing.alter_guard(%L, level => ''row'');', g.root_name)
      FROM triggers AS g JOIN kin ON kin.relation OPERATOR(pg_catalog.=) g.relation
     WHERE g.level OPERATOR(pg_catalog.=) 'statement'
    UNION ALL
    SELECT DISTINCT g.relation, 'open', 'observe',
           pg_catalog.format('the guard of %s only observes: violations pass', g.table_name),
           pg_catalog.format('SELECT fencing.alter_guard(%L, mode => ''enforce'');', g.root_name)
      FROM triggers AS g
     WHERE g.mode OPERATOR(pg_catalog.=) 'observe'
       AND (g.place OPERATOR(pg_catalog.=) 'table' OR NOT EXISTS (SELECT FROM triggers AS r WHERE r.relation OPERATOR(pg_catalog.=) g.root AND r.mode OPERATOR(pg_catalog.=) 'observe'))
    UNION ALL
    SELECT DISTINCT g.relation, 'open', 'admit',
           pg_catalog.format('the guard of %s admits writes that present no token', g.table_name),
           pg_catalog.format('SELECT fencing.alter_guard(%L, on_missing => ''reject'');', g.root_name)
      FROM triggers AS g
     WHERE g.on_missing OPERATOR(pg_catalog.=) 'admit'
       AND (g.place OPERATOR(pg_catalog.=) 'table' OR NOT EXISTS (SELECT FROM triggers AS r WHERE r.relation OPERATOR(pg_catalog.=) g.root AND r.on_missing OPERATOR(pg_catalog.=) 'admit'))
    UNION ALL
    SELECT u.relation, 'note', 'closed',
           pg_catalog.format('%s column %I of %s %s', u.part, u.name, u.table_name,
               CASE WHEN u.flaw OPERATOR(pg_catalog.=) 'missing' THEN 'is missing: every write is refused'
                    WHEN u.flaw OPERATOR(pg_catalog.=) 'generated' THEN 'is generated: every write is refused'
                    WHEN u.flaw OPERATOR(pg_catalog.=) 'type' THEN 'has a type that doesn''t fit: every write is refused'
                    WHEN u.flaw OPERATOR(pg_catalog.=) 'not null' THEN 'is NOT NULL, but always stored as NULL: every write is refused'
                    ELSE 'has a default, so that it presents nothing' END),
           CASE WHEN u.flaw OPERATOR(pg_catalog.=) 'default' THEN pg_catalog.format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT;', u.table_name, u.name)
                WHEN u.flaw OPERATOR(pg_catalog.=) 'identity' THEN pg_catalog.format('ALTER TABLE %s ALTER COLUMN %I DROP IDENTITY;', u.table_name, u.name)
                WHEN u.flaw OPERATOR(pg_catalog.=) 'not null' THEN pg_catalog.format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL;', u.table_name, u.name)
                WHEN u.part OPERATOR(pg_catalog.<>) 'key' AND u.flaw OPERATOR(pg_catalog.=) 'missing' THEN pg_catalog.format('ALTER TABLE %s ADD COLUMN %I bigint;', u.table_name, u.name)
                WHEN u.part OPERATOR(pg_catalog.<>) 'key' AND u.flaw OPERATOR(pg_catalog.=) 'type' THEN pg_catalog.format('ALTER TABLE %s ALTER COLUMN %I TYPE bigint;', u.table_name, u.name)
           END
      FROM unfit AS u
     WHERE u.flaw IS NOT NULL
$$;
COMMENT ON FUNCTION fencing.gaps_in_definitions() IS 'Internal: guards that are declared to let something pass, or that don''t fit their table';

CREATE FUNCTION fencing.gaps_in_tables()
    RETURNS TABLE (relation oid, severity text, gap text, detail text, remedy text)
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH RECURSIVE tables AS (
        SELECT t.* FROM fencing.guard_tables() AS t
    ), top AS (
        -- A trigger that is cloned to partitions is renamed where it was made.
        SELECT g.oid, g.oid AS made, g.tgparentid
          FROM tables AS t JOIN pg_catalog.pg_trigger AS g ON g.tgrelid OPERATOR(pg_catalog.=) t.relation
         WHERE (g.tgtype OPERATOR(pg_catalog.&) 3) OPERATOR(pg_catalog.=) 3 AND NOT g.tgisinternal AND g.tgenabled OPERATOR(pg_catalog.<>) 'D'
           AND g.tgfoid OPERATOR(pg_catalog.<>) 'fencing.guard_row'::pg_catalog.regproc
        UNION
        SELECT top.oid, g.oid, g.tgparentid FROM top JOIN pg_catalog.pg_trigger AS g ON g.oid OPERATOR(pg_catalog.=) top.tgparentid
    ), up AS (
        SELECT t.relation AS root, t.relation AS ancestor FROM tables AS t WHERE t.place OPERATOR(pg_catalog.=) 'table'
        UNION
        SELECT up.root, i.inhparent FROM up JOIN pg_catalog.pg_inherits AS i ON i.inhrelid OPERATOR(pg_catalog.=) up.ancestor
    )
    SELECT t.relation, CASE WHEN r.is_instead THEN 'open' ELSE 'note' END,
           CASE WHEN r.is_instead THEN 'instead_rule' ELSE 'also_rule' END,
           pg_catalog.format('rule %I of %s %s', r.rulename, t.name,
               CASE WHEN r.is_instead THEN 'puts something else for a statement, before any trigger'
                    ELSE 'adds something to a statement' END),
           pg_catalog.format('DROP RULE %I ON %s;', r.rulename, t.name)
      FROM tables AS t JOIN pg_catalog.pg_rewrite AS r ON r.ev_class OPERATOR(pg_catalog.=) t.relation
     WHERE r.ev_type OPERATOR(pg_catalog.=) ANY (ARRAY['2', '3', '4']::pg_catalog."char"[]) AND r.ev_enabled OPERATOR(pg_catalog.<>) 'D'
    UNION ALL
    SELECT t.relation, 'weak', 'later_trigger',
           pg_catalog.format('trigger %I of %s fires after the guard, and may change what it has checked', l.tgname, t.name),
           CASE WHEN l.tgname OPERATOR(pg_catalog.>) '~fencing' THEN
                pg_catalog.format('ALTER TRIGGER %I ON %s RENAME TO %I;', made.tgname, fencing.qualified_name(made.tgrelid), 'before_' OPERATOR(pg_catalog.||) made.tgname::pg_catalog.text)
                ELSE pg_catalog.format('SELECT fencing.alter_guard(%L);', t.root_name) END
      FROM tables AS t
      JOIN pg_catalog.pg_trigger AS l ON l.tgrelid OPERATOR(pg_catalog.=) t.relation
      JOIN top ON top.oid OPERATOR(pg_catalog.=) l.oid AND top.tgparentid OPERATOR(pg_catalog.=) 0
      JOIN pg_catalog.pg_trigger AS made ON made.oid OPERATOR(pg_catalog.=) top.made
     CROSS JOIN LATERAL (SELECT pg_catalog.max(g.name::pg_catalog.text COLLATE "C") AS name FROM fencing.guard_triggers() AS g
                          WHERE g.relation OPERATOR(pg_catalog.=) t.relation AND g.kind OPERATOR(pg_catalog.=) 'row' AND g.enabled OPERATOR(pg_catalog.=) 'A') AS guard
     WHERE t.level IS DISTINCT FROM 'statement'
       AND l.tgname::pg_catalog.text COLLATE "C" OPERATOR(pg_catalog.>) COALESCE(guard.name, '~fencing')
       AND (l.tgparentid OPERATOR(pg_catalog.=) 0 OR NOT EXISTS (SELECT FROM tables AS other WHERE other.relation OPERATOR(pg_catalog.=) made.tgrelid))
    UNION ALL
    SELECT t.relation, 'weak', 'unlogged',
           pg_catalog.format('%s is unlogged: a crash empties it, and a standby or a backup has nothing of it', t.name),
           pg_catalog.format('ALTER TABLE %s SET LOGGED;', t.name)
      FROM tables AS t JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) t.relation
     WHERE c.relpersistence OPERATOR(pg_catalog.=) 'u' AND c.relkind OPERATOR(pg_catalog.=) 'r'
    UNION ALL
    SELECT t.relation, CASE WHEN s.subenabled THEN 'weak' ELSE 'note' END, 'subscription',
           pg_catalog.format('subscription %I %s to %s, past the guard', s.subname,
               CASE WHEN s.subenabled THEN 'writes' ELSE 'is disabled, but would write' END, t.name),
           CASE WHEN s.subenabled THEN pg_catalog.format('ALTER SUBSCRIPTION %I DISABLE;', s.subname)
                ELSE pg_catalog.format('DROP SUBSCRIPTION %I;', s.subname) END
      FROM (SELECT t.relation, t.name, t.relation AS target FROM tables AS t WHERE t.place OPERATOR(pg_catalog.<>) 'table'
            UNION ALL
            SELECT t.relation, t.name, up.ancestor FROM tables AS t JOIN up ON up.root OPERATOR(pg_catalog.=) t.relation WHERE t.place OPERATOR(pg_catalog.=) 'table') AS t
      JOIN pg_catalog.pg_subscription_rel AS r ON r.srrelid OPERATOR(pg_catalog.=) t.target
      JOIN pg_catalog.pg_subscription AS s ON s.oid OPERATOR(pg_catalog.=) r.srsubid
    UNION ALL
    SELECT t.relation, 'note', 'owner',
           pg_catalog.format('%I owns %s and may disable or drop its guard', owner.rolname, t.name)
           OPERATOR(pg_catalog.||) COALESCE('; so may ' OPERATOR(pg_catalog.||) (
                  SELECT pg_catalog.string_agg(pg_catalog.quote_ident(m.rolname), ', ' ORDER BY m.rolname)
                    FROM pg_catalog.pg_roles AS m
                   WHERE m.rolcanlogin AND NOT m.rolsuper AND m.oid OPERATOR(pg_catalog.<>) owner.oid
                     AND pg_catalog.pg_has_role(m.oid, owner.oid, 'MEMBER')), ''),
           pg_catalog.format('ALTER TABLE %s OWNER TO some_role_that_no_holder_is_a_member_of;', t.name)
      FROM tables AS t
      JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) t.relation
      JOIN pg_catalog.pg_roles AS owner ON owner.oid OPERATOR(pg_catalog.=) c.relowner
      JOIN pg_catalog.pg_class AS root ON root.oid OPERATOR(pg_catalog.=) t.root
     WHERE NOT owner.rolsuper AND (t.place OPERATOR(pg_catalog.=) 'table' OR c.relowner OPERATOR(pg_catalog.<>) root.relowner)
$$;
COMMENT ON FUNCTION fencing.gaps_in_tables() IS 'Internal: what else their tables have that guards don''t reach';

CREATE FUNCTION fencing.gaps_in_settings()
    RETURNS TABLE (relation oid, severity text, gap text, detail text, remedy text)
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH watched AS (
        SELECT * FROM (VALUES
            ('allow_prepare', 'fencing.allow_prepare', 'on', 'off', '^(on|t|tr|tru|true|y|ye|yes|1)$', 'a prepared transaction keeps the fences of %s'),
            -- From PostgreSQL 17 on.
            ('watch_disabled', 'event_triggers', 'off', 'on', '^(off?|f|fa|fal|fals|false|n|no|0)$', 'nothing looks after the guard of %s when tables change'))
            AS w (gap, setting, bad, good, pattern, consequence)
    ), flaw AS (
        SELECT w.*,
               CASE WHEN s.setrole OPERATOR(pg_catalog.=) 0 AND s.setdatabase OPERATOR(pg_catalog.=) 0 THEN 'all roles'
                    WHEN s.setrole OPERATOR(pg_catalog.=) 0 THEN 'this database'
                    WHEN s.setdatabase OPERATOR(pg_catalog.=) 0 THEN pg_catalog.format('role %I', s.role)
                    ELSE pg_catalog.format('role %I in this database', s.role) END AS place,
               CASE WHEN s.setrole OPERATOR(pg_catalog.=) 0 AND s.setdatabase OPERATOR(pg_catalog.=) 0 THEN 'ALTER ROLE ALL'
                    WHEN s.setrole OPERATOR(pg_catalog.=) 0 THEN pg_catalog.format('ALTER DATABASE %I', pg_catalog.current_database())
                    WHEN s.setdatabase OPERATOR(pg_catalog.=) 0 THEN pg_catalog.format('ALTER ROLE %I', s.role)
                    ELSE pg_catalog.format('ALTER ROLE %I IN DATABASE %I', s.role, pg_catalog.current_database()) END
               OPERATOR(pg_catalog.||) pg_catalog.format(' RESET %s;', w.setting) AS remedy
          FROM (SELECT s.setrole, s.setdatabase, r.rolname AS role, pg_catalog.unnest(s.setconfig) AS setting
                  FROM pg_catalog.pg_db_role_setting AS s
                  LEFT JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) s.setrole
                 WHERE s.setdatabase OPERATOR(pg_catalog.=) 0
                    OR s.setdatabase OPERATOR(pg_catalog.=) (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())) AS s
          JOIN watched AS w ON pg_catalog.split_part(s.setting, '=', 1) OPERATOR(pg_catalog.=) w.setting
                           AND pg_catalog.split_part(s.setting, '=', 2) OPERATOR(pg_catalog.~*) w.pattern
        UNION ALL
        SELECT w.*, 'configuration files of the server',
               CASE WHEN f.sourcefile OPERATOR(pg_catalog.~) 'postgresql[.]auto[.]conf$' THEN pg_catalog.format('ALTER SYSTEM RESET %s;', w.setting)
                    ELSE pg_catalog.format('ALTER SYSTEM SET %s = %s;', w.setting, w.good) END
          FROM pg_catalog.pg_file_settings AS f
          JOIN watched AS w ON f.name OPERATOR(pg_catalog.=) w.setting AND f.setting OPERATOR(pg_catalog.~*) w.pattern
         WHERE f.applied
        UNION ALL
        -- As it runs: files must be read again, too.
        SELECT w.*, 'the server, as it runs',
               CASE WHEN s.source OPERATOR(pg_catalog.=) 'configuration file' THEN 'SELECT pg_catalog.pg_reload_conf();'
                    ELSE pg_catalog.format('ALTER DATABASE %I SET %s = %s;', pg_catalog.current_database(), w.setting, w.good) END
          FROM pg_catalog.pg_settings AS s
          -- This extension's settings are there once the library is, which the planner loads for this.
          JOIN watched AS w ON s.name OPERATOR(pg_catalog.=) CASE WHEN fencing.make_token(1, 1) OPERATOR(pg_catalog.>) 0 THEN w.setting END
                           AND s.setting OPERATOR(pg_catalog.=) w.bad
         WHERE s.source OPERATOR(pg_catalog.=) ANY (ARRAY['configuration file', 'command line', 'environment variable'])
    )
    SELECT t.relation, 'weak', f.gap,
           pg_catalog.format('%s is %s for %s: ', f.setting, f.bad, f.place) OPERATOR(pg_catalog.||) pg_catalog.format(f.consequence, t.name),
           f.remedy
      FROM fencing.guard_tables() AS t CROSS JOIN flaw AS f
     WHERE t.place OPERATOR(pg_catalog.=) 'table'
    UNION ALL
    SELECT t.relation, 'weak', 'authority_missing',
           pg_catalog.format('fencing.epoch_authority names role %I, which does not exist: whoever may create roles could become it, and open epochs for %s', s.setting, t.name),
           pg_catalog.format('CREATE ROLE %I;', s.setting)
      FROM fencing.guard_tables() AS t
      JOIN pg_catalog.pg_settings AS s
        ON s.name OPERATOR(pg_catalog.=) CASE WHEN fencing.make_token(1, 1) OPERATOR(pg_catalog.>) 0 THEN 'fencing.epoch_authority' END
       AND s.setting OPERATOR(pg_catalog.<>) ''
     WHERE t.place OPERATOR(pg_catalog.=) 'table'
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname::pg_catalog.text OPERATOR(pg_catalog.=) s.setting)
    UNION ALL
    SELECT t.relation, 'weak',
           CASE WHEN e.evtname IS NULL THEN 'watch_missing' ELSE 'watch_disabled' END,
           CASE WHEN e.evtname IS NULL THEN pg_catalog.format('event trigger %I is missing: nothing looks after the guard of %s when tables change', w.name, t.name)
                ELSE pg_catalog.format('event trigger %I does not always fire: nothing looks after the guard of %s when tables change', e.evtname, t.name) END,
           CASE WHEN e.evtname IS NULL
                THEN pg_catalog.format('CREATE EVENT TRIGGER %1$I ON %2$s EXECUTE FUNCTION fencing.%3$I(); ALTER EVENT TRIGGER %1$I ENABLE ALWAYS; ALTER EXTENSION fencing ADD EVENT TRIGGER %1$I;', w.name, w.event, w.function)
                ELSE pg_catalog.format('ALTER EVENT TRIGGER %I ENABLE ALWAYS;', e.evtname) END
      FROM fencing.guard_tables() AS t
     CROSS JOIN (VALUES ('fencing_watch_ddl', 'ddl_command_end', 'watch_ddl'), ('fencing_watch_drop', 'sql_drop', 'watch_drop')) AS w (name, event, function)
      LEFT JOIN pg_catalog.pg_event_trigger AS e
        ON e.evtfoid OPERATOR(pg_catalog.=) pg_catalog.to_regproc('fencing.' OPERATOR(pg_catalog.||) w.function)
     WHERE t.place OPERATOR(pg_catalog.=) 'table' AND e.evtenabled IS DISTINCT FROM 'A'
$$;
COMMENT ON FUNCTION fencing.gaps_in_settings() IS 'Internal: settings that weaken every guard';

CREATE FUNCTION fencing.enforcement_gaps()
    RETURNS TABLE (relation regclass, severity text, gap text, detail text, remedy text)
    LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE
    -- Compiling the plan would take longer than running it.
    SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    SELECT g.relation::pg_catalog.regclass, g.severity, g.gap, g.detail, g.remedy
      FROM (SELECT * FROM fencing.gaps_in_triggers()
            UNION ALL SELECT * FROM fencing.gaps_in_definitions()
            UNION ALL SELECT * FROM fencing.gaps_in_tables()
            UNION ALL SELECT * FROM fencing.gaps_in_settings()) AS g
     -- In an order in which the remedies can be run.
     ORDER BY pg_catalog.array_position(ARRAY['open', 'weak', 'note'], g.severity),
              pg_catalog.array_position(ARRAY['missing_namespace', 'foreign_table', 'statement_level'], g.gap),
              fencing.qualified_name(g.relation) COLLATE "C", g.gap, g.detail COLLATE "C"
$$;
COMMENT ON FUNCTION fencing.enforcement_gaps() IS
    'Every gap in this database''s guards: open (a stale write passes now), weak (it could), note (worth knowing); and the SQL that mends it. No open or weak row: no way round a guard is left';
