-- The proof: a really stale command for each table, fired in a subtransaction and rolled back. It
-- runs as the caller and under the caller's settings, since the table's own triggers run along;
-- hence no SET clause where they do, and every name here is qualified down to operators.

CREATE FUNCTION fencing.present_stale(to_rows boolean, older_epoch boolean DEFAULT false)
    RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'fencing_present_stale';
COMMENT ON FUNCTION fencing.present_stale(boolean, boolean) IS
    'For fencing.prove_guard: until it is rolled back, this transaction presents a superseded term to every guard (to_rows: to row triggers alone; older_epoch: one of the epoch before), and can''t commit. Makes writes be rejected, and lets none pass';

CREATE FUNCTION fencing.sample_insert(target regclass, leaf regclass, key_columns text[])
    RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    -- What is written here is read so, and a bound is shown so; what comes out is read alike either way.
    SET standard_conforming_strings = on AS $$
    WITH RECURSIVE up AS (
        SELECT $2::pg_catalog.oid AS oid, 0 AS level
        UNION ALL
        SELECT i.inhparent, up.level OPERATOR(pg_catalog.+) 1
          FROM up JOIN pg_catalog.pg_inherits AS i ON i.inhrelid OPERATOR(pg_catalog.=) up.oid
    ), bound AS (
        -- The first value of each list, and each range's lower bound; of the deepest level that has one.
        SELECT DISTINCT ON (a.attname) a.attname,
               CASE WHEN b.token[1] OPERATOR(pg_catalog.=) 'MINVALUE'
                    THEN COALESCE((SELECT v.lowest
                           FROM (VALUES ('pg_catalog.int2', '-32768'), ('pg_catalog.int4', '-2147483648'),
                                        ('pg_catalog.int8', '-9223372036854775808'), ('pg_catalog.text', ' '),
                                        ('pg_catalog.varchar', ' '), ('pg_catalog.bpchar', ' '),
                                        ('pg_catalog.uuid', '00000000-0000-0000-0000-000000000000')) AS v (type, lowest)
                          WHERE v.type::pg_catalog.regtype OPERATOR(pg_catalog.=) fencing.base_type(a.atttypid)), '-Infinity')
                    WHEN pg_catalog.left(b.token[1], 1) OPERATOR(pg_catalog.=) ''''
                    THEN pg_catalog.replace(pg_catalog.substr(b.token[1], 2, pg_catalog.length(b.token[1]) OPERATOR(pg_catalog.-) 2), '''''', '''')
                    ELSE b.token[1] END AS value
          FROM up
          JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) up.oid
          JOIN pg_catalog.pg_inherits AS i ON i.inhrelid OPERATOR(pg_catalog.=) up.oid
          JOIN pg_catalog.pg_partitioned_table AS p ON p.partrelid OPERATOR(pg_catalog.=) i.inhparent
         CROSS JOIN LATERAL pg_catalog.regexp_matches(
               pg_catalog.substring(pg_catalog.pg_get_expr(c.relpartbound, c.oid), '\((.*)$'),
               $re$'(?:[^']|'')*'|[^\s,()']+$re$, 'g') WITH ORDINALITY AS b (token, n)
          JOIN pg_catalog.pg_attribute AS a
            ON a.attrelid OPERATOR(pg_catalog.=) i.inhparent
           AND a.attnum OPERATOR(pg_catalog.=) p.partattrs[(b.n OPERATOR(pg_catalog.-) 1)::pg_catalog.int4]
         WHERE b.n OPERATOR(pg_catalog.<=) CASE WHEN p.partstrat OPERATOR(pg_catalog.=) 'l' THEN 1 ELSE p.partnatts END
           AND p.partstrat OPERATOR(pg_catalog.<>) 'h'
           AND b.token[1] OPERATOR(pg_catalog.<>) 'NULL'
         ORDER BY a.attname, up.level
    ), filled AS (
        SELECT a.attnum, pg_catalog.quote_ident(a.attname) AS name,
               CASE WHEN bound.value IS NOT NULL THEN pg_catalog.quote_literal(bound.value)
                    WHEN NOT a.attname OPERATOR(pg_catalog.=) ANY ($3::pg_catalog.name[]) OR $3 IS NULL
                    -- A domain may refuse NULL before any trigger fires.
                    THEN CASE WHEN t.typtype OPERATOR(pg_catalog.=) 'd' THEN 'DEFAULT' ELSE 'NULL' END
                    WHEN fencing.base_type(t.oid) OPERATOR(pg_catalog.=) 'pg_catalog.uuid'::pg_catalog.regtype
                    THEN '''00000000-0000-0000-0000-000000000001'''
                    ELSE COALESCE((SELECT pg_catalog.quote_literal(e.enumlabel) FROM pg_catalog.pg_enum AS e
                                    WHERE e.enumtypid OPERATOR(pg_catalog.=) fencing.base_type(t.oid)
                                    ORDER BY e.enumsortorder LIMIT 1), '''1''') END AS value
          FROM pg_catalog.pg_attribute AS a
          JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) a.atttypid
          LEFT JOIN bound ON bound.attname OPERATOR(pg_catalog.=) a.attname
         WHERE a.attrelid OPERATOR(pg_catalog.=) $1 AND a.attnum OPERATOR(pg_catalog.>) 0
           AND NOT a.attisdropped AND a.attgenerated OPERATOR(pg_catalog.=) ''
    )
    SELECT CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.=) 0 THEN 'DEFAULT VALUES'
                ELSE pg_catalog.format('(%s) OVERRIDING SYSTEM VALUE VALUES (%s)',
                         pg_catalog.string_agg(f.name, ', ' ORDER BY f.attnum),
                         pg_catalog.string_agg(f.value, ', ' ORDER BY f.attnum)) END
      FROM filled AS f
$$;
COMMENT ON FUNCTION fencing.sample_insert(regclass, regclass, text[]) IS
    'Internal: what to insert into a table so that a row trigger sees it: the keys and the partition''s bounds filled in, no sequence drawn. Constraints are checked after the guard';

CREATE FUNCTION fencing.tables_to_prove(target regclass)
    RETURNS TABLE (oid oid, kind "char", is_partition boolean, name text, single boolean, key_columns text[], by_row boolean,
                   parent text, family oid[], leaves oid[], "column" text)
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    WITH RECURSIVE tree AS (
        SELECT $1::pg_catalog.oid AS oid
        UNION
        SELECT i.inhrelid FROM tree JOIN pg_catalog.pg_inherits AS i ON i.inhparent OPERATOR(pg_catalog.=) tree.oid
    ), up AS (
        SELECT tree.oid, tree.oid AS ancestor, 0 AS level FROM tree
        UNION ALL
        SELECT up.oid, i.inhparent, up.level OPERATOR(pg_catalog.+) 1
          FROM up JOIN pg_catalog.pg_inherits AS i ON i.inhrelid OPERATOR(pg_catalog.=) up.ancestor
    ), down AS (
        SELECT tree.oid, tree.oid AS descendant FROM tree
        UNION
        SELECT down.oid, i.inhrelid
          FROM down JOIN pg_catalog.pg_inherits AS i ON i.inhparent OPERATOR(pg_catalog.=) down.descendant
    ), guard AS (
        SELECT DISTINCT ON (up.oid) up.oid, d.*
          FROM up
          JOIN pg_catalog.pg_trigger AS t ON t.tgrelid OPERATOR(pg_catalog.=) up.ancestor
         CROSS JOIN LATERAL fencing.guard_definition(t.tgargs) AS d
         WHERE t.tgfoid OPERATOR(pg_catalog.=) ANY (ARRAY['fencing.guard_row'::pg_catalog.regproc,
                   'fencing.guard_statement'::pg_catalog.regproc, 'fencing.guard_truncate'::pg_catalog.regproc]::pg_catalog.oid[])
         ORDER BY up.oid, up.level, t.tgname
    )
    SELECT c.oid, c.relkind, c.relispartition,
           pg_catalog.format('%I.%I', n.nspname, c.relname) AS name,
           guard.key IS NOT NULL AS single, guard.key_columns,
           COALESCE(guard.level OPERATOR(pg_catalog.<>) 'statement', true) AS by_row,
           (SELECT pg_catalog.format('%I.%I', pn.nspname, pc.relname)
              FROM pg_catalog.pg_inherits AS i
              JOIN pg_catalog.pg_class AS pc ON pc.oid OPERATOR(pg_catalog.=) i.inhparent
              JOIN pg_catalog.pg_namespace AS pn ON pn.oid OPERATOR(pg_catalog.=) pc.relnamespace
             WHERE i.inhrelid OPERATOR(pg_catalog.=) c.oid ORDER BY i.inhseqno LIMIT 1) AS parent,
           (SELECT pg_catalog.array_agg(down.descendant) FROM down WHERE down.oid OPERATOR(pg_catalog.=) c.oid) AS family,
           -- The partitions whose bounds an INSERT is made to fit; itself, for what has none.
           COALESCE((SELECT (pg_catalog.array_agg(l.oid ORDER BY l.oid))[1:8]
              FROM down JOIN pg_catalog.pg_class AS l ON l.oid OPERATOR(pg_catalog.=) down.descendant
             WHERE c.relkind OPERATOR(pg_catalog.=) 'p' AND down.oid OPERATOR(pg_catalog.=) c.oid
               AND l.relkind OPERATOR(pg_catalog.=) 'r'), ARRAY[c.oid]) AS leaves,
           (SELECT pg_catalog.quote_ident(a.attname) FROM pg_catalog.pg_attribute AS a
             WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid AND a.attnum OPERATOR(pg_catalog.>) 0
               AND NOT a.attisdropped AND a.attgenerated OPERATOR(pg_catalog.=) ''
               AND a.attidentity OPERATOR(pg_catalog.<>) 'a'
             ORDER BY a.attlen OPERATOR(pg_catalog.>) 0 DESC, a.attnum LIMIT 1) AS column
      FROM tree
      JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) tree.oid
      JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
      LEFT JOIN guard ON guard.oid OPERATOR(pg_catalog.=) c.oid
     -- A temporary child is its own session's alone.
     WHERE c.relpersistence OPERATOR(pg_catalog.<>) 't' OR c.oid OPERATOR(pg_catalog.=) $1
     ORDER BY c.oid OPERATOR(pg_catalog.<>) $1, n.nspname, c.relname
$$;
COMMENT ON FUNCTION fencing.tables_to_prove(regclass) IS
    'Internal: a table with all partitions and children, the guard that each has or should have, and what it takes to write to it';

CREATE FUNCTION fencing.prove_tables(target regclass, older_epoch boolean DEFAULT false)
    RETURNS TABLE (relation regclass, verdict text, detail text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
DECLARE
    part record;      -- a table of the tree, with the guard that it has or should have
    probe record;     -- what to fire at it
    leaf pg_catalog.oid;
    command pg_catalog.text;
    row_table pg_catalog.oid;
    row_at pg_catalog.tid;
    fired pg_catalog.bool;
    blocked pg_catalog.bool;
    written pg_catalog.int8;
    failed_schema pg_catalog.text;
    failed_table pg_catalog.text;
    own record;       -- whether the error is the table's own
    outcome pg_catalog.text;
    why pg_catalog.text;
BEGIN
    IF target IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed', MESSAGE = 'argument "relation" must not be null';
    END IF;
    SELECT c.relowner, c.relkind, n.nspname,
           pg_catalog.format('%I.%I', n.nspname, c.relname) AS name
      INTO part
      FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
     WHERE c.oid OPERATOR(pg_catalog.=) target;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_object',
            MESSAGE = pg_catalog.format('relation with OID %s does not exist', target::pg_catalog.oid);
    END IF;
    IF NOT pg_catalog.pg_has_role(part.relowner, 'USAGE') THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = pg_catalog.format('must be owner of table %s', part.name),
            DETAIL = 'The proof fires the table''s own triggers, as its caller.',
            HINT = 'Let the owner, a member of that role or a superuser run it.';
    END IF;
    IF part.relkind OPERATOR(pg_catalog.<>) ALL (ARRAY['r', 'p']::pg_catalog."char"[])
       OR part.nspname OPERATOR(pg_catalog.=) ANY (ARRAY['pg_catalog', 'pg_toast', 'fencing']::pg_catalog.name[])
    THEN
        RAISE EXCEPTION USING ERRCODE = 'wrong_object_type',
            MESSAGE = pg_catalog.format('cannot prove a guard of %s', part.name),
            DETAIL = 'Only ordinary and partitioned tables can be guarded.';
    END IF;

    FOR part IN
        SELECT t.* FROM fencing.tables_to_prove(target) AS t
    LOOP
        relation := part.oid;
        verdict := 'rejected';
        detail := NULL;
        IF part.kind OPERATOR(pg_catalog.<>) ALL (ARRAY['r', 'p']::pg_catalog."char"[]) THEN
            verdict := 'inconclusive';
            detail := 'it is no ordinary table';
            RETURN NEXT;
            CONTINUE;
        END IF;
        FOR probe IN
            SELECT p.matching, p.through, p.to_rows
              FROM (VALUES
                  (true, part.name, part.by_row, true),
                  -- Statement triggers make one that matches no row an error, too.
                  (false, part.name, false, part.single),
                  -- Statement triggers alone don't see what is written through a parent.
                  (true, part.parent, false, NOT part.by_row AND part.parent IS NOT NULL)) AS p (matching, through, to_rows, wanted)
             WHERE p.wanted
        LOOP
            FOREACH leaf IN ARRAY part.leaves LOOP
                row_at := NULL;
                fired := false;
                command := 'proof';
                BEGIN
                    PERFORM pg_catalog.set_config('lock_timeout', '500ms', true);
                    PERFORM pg_catalog.set_config('client_min_messages', 'error', true);
                    -- Rows that a policy hides are not looked for; off, looking is an error.
                    PERFORM pg_catalog.set_config('row_security', 'on', true);
                    PERFORM fencing.present_stale(probe.to_rows, older_epoch);
                    IF NOT probe.matching THEN
                        command := 'DELETE of no row';
                        EXECUTE pg_catalog.format('DELETE FROM %s WHERE false', probe.through);
                    ELSE
                        command := 'search for a row';
                        EXECUTE pg_catalog.format(
                            'SELECT t.tableoid, t.ctid FROM %s%s AS t%s LIMIT 1 FOR UPDATE SKIP LOCKED',
                            CASE WHEN part.kind OPERATOR(pg_catalog.=) 'p' THEN '' ELSE 'ONLY ' END, part.name,
                            (SELECT pg_catalog.format(' WHERE ROW(%s) IS NOT NULL',
                                        pg_catalog.string_agg(pg_catalog.format('t.%I', k.name), ', '))
                               FROM pg_catalog.unnest(part.key_columns) AS k (name)
                              HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 0))
                           INTO row_table, row_at;
                        IF row_at IS NULL AND probe.through OPERATOR(pg_catalog.<>) part.name AND NOT part.is_partition THEN
                            RAISE EXCEPTION USING ERRCODE = 'no_data_found', MESSAGE = 'there is none';
                        ELSIF row_at IS NULL THEN
                            command := 'INSERT';
                            EXECUTE pg_catalog.format('INSERT INTO %s %s', probe.through,
                                fencing.sample_insert(part.oid, leaf, part.key_columns));
                        ELSE
                            command := CASE WHEN part.column IS NULL THEN 'DELETE' ELSE 'UPDATE' END;
                            EXECUTE pg_catalog.format(
                                CASE WHEN part.column IS NULL THEN 'DELETE FROM %1$s AS t' ELSE 'UPDATE %1$s AS t SET %2$s = t.%2$s' END
                                OPERATOR(pg_catalog.||)
                                ' WHERE t.tableoid OPERATOR(pg_catalog.=) $1 AND t.ctid OPERATOR(pg_catalog.=) $2',
                                probe.through, part.column) USING row_table, row_at;
                        END IF;
                    END IF;
                    GET DIAGNOSTICS written = ROW_COUNT;
                    fired := true;
                    -- Leaves the subtransaction, which undoes the write.
                    RAISE EXCEPTION USING MESSAGE = 'written';
                EXCEPTION WHEN OTHERS THEN
                    GET STACKED DIAGNOSTICS failed_schema = SCHEMA_NAME, failed_table = TABLE_NAME;
                    -- What a trigger writes elsewhere has a guard, or constraints, of its own.
                    SELECT COALESCE(pg_catalog.bool_or(pg_catalog.strpos(SQLERRM, pg_catalog.format('"%s.%s"', n.nspname, c.relname))
                               OPERATOR(pg_catalog.>) 0), false)
                           OR pg_catalog.strpos(SQLERRM, ' for table "') OPERATOR(pg_catalog.=) 0 AS guard,
                           COALESCE(pg_catalog.bool_or(c.relkind OPERATOR(pg_catalog.=) 'r' AND n.nspname OPERATOR(pg_catalog.=) failed_schema
                               AND c.relname OPERATOR(pg_catalog.=) failed_table), false) AS constraints
                      INTO own
                      FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
                     WHERE c.oid OPERATOR(pg_catalog.=) ANY (part.family);
                    outcome := 'inconclusive';
                    blocked := SQLSTATE OPERATOR(pg_catalog.=) '55P03';
                    IF fired AND (written OPERATOR(pg_catalog.>) 0 OR NOT probe.matching) THEN
                        outcome := 'accepted';
                        why := pg_catalog.format('a stale %s passed', command);
                    ELSIF fired THEN
                        why := pg_catalog.format('a stale %s wrote no row: a trigger or a rule kept it away', command);
                    ELSIF own.guard AND (SQLSTATE OPERATOR(pg_catalog.=) 'LF005'
                                         OR NOT older_epoch AND pg_catalog.left(SQLSTATE, 2) OPERATOR(pg_catalog.=) 'LF') THEN
                        outcome := 'rejected';
                        why := pg_catalog.format('%s: %s', SQLSTATE, SQLERRM);
                    ELSIF pg_catalog.left(SQLSTATE, 2) OPERATOR(pg_catalog.=) '23' AND own.constraints THEN
                        -- Constraints are checked once all BEFORE triggers have let the row pass.
                        outcome := 'accepted';
                        why := pg_catalog.format('a stale %s passed every trigger, and failed at a constraint alone: %s', command, SQLERRM);
                    ELSE
                        why := pg_catalog.format('the %s failed: %s: %s', command, SQLSTATE, SQLERRM);
                    END IF;
                    IF probe.through OPERATOR(pg_catalog.<>) part.name THEN
                        why := pg_catalog.format('through %s: %s', probe.through, why);
                    END IF;
                END;
                EXIT WHEN outcome OPERATOR(pg_catalog.<>) 'inconclusive' OR row_at IS NOT NULL OR NOT probe.matching OR blocked;
            END LOOP;
            -- The worst of them counts.
            IF outcome OPERATOR(pg_catalog.=) 'accepted' OR detail IS NULL
               OR outcome OPERATOR(pg_catalog.=) 'inconclusive' AND verdict OPERATOR(pg_catalog.=) 'rejected'
            THEN
                verdict := outcome;
                detail := why;
            END IF;
            -- One wait for a table is enough.
            EXIT WHEN verdict OPERATOR(pg_catalog.=) 'accepted' OR blocked;
        END LOOP;
        -- Nothing is written to what has no partition, in whatever epoch.
        CONTINUE WHEN older_epoch AND verdict OPERATOR(pg_catalog.=) 'inconclusive' AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_class AS c
             WHERE c.oid OPERATOR(pg_catalog.=) ANY (part.family) AND c.relkind OPERATOR(pg_catalog.<>) 'p');
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fencing.prove_tables(regclass, boolean) IS
    'Internal: does the work of fencing.prove_guard, and with older_epoch that of fencing.prove_epoch, which takes LF005 alone for a rejection, and leaves out what has no partition';

CREATE FUNCTION fencing.prove_guard(
    relation regclass, OUT relation regclass, OUT verdict text, OUT detail text)
    RETURNS SETOF record LANGUAGE sql VOLATILE PARALLEL UNSAFE AS
    'SELECT p.relation, p.verdict, p.detail FROM fencing.prove_tables($1) AS p';
COMMENT ON FUNCTION fencing.prove_guard(regclass) IS
    'Fires a really stale command at a table and at each of its partitions and children, and rolls it back: rejected, accepted or inconclusive. The table''s own triggers run along, as the caller. TRUNCATE is not tried, for its lock. Needs the table''s ownership';
