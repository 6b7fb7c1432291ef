-- What the ways share, on top of the golden tests' helpers: loaded once into the database that each
-- way gets a copy of.

-- Guards a table in the namespace "jobs"; by default with one lease for it, "a".
CREATE PROCEDURE guard(relation text, key text DEFAULT 'a', key_columns name[] DEFAULT NULL, token_column name DEFAULT NULL,
                       present_column name DEFAULT NULL, level fencing.guard_level DEFAULT 'row')
    LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM fencing.namespace) THEN
        PERFORM fencing.create_namespace('jobs');
        COMMIT;
    END IF;
    PERFORM fencing.protect(relation::regclass, 'jobs', CASE WHEN key_columns IS NULL THEN key END, key_columns,
                            token_column => token_column, present_column => present_column, level => level);
END
$$;

-- "old" held the lease "a" and lost it to "new". "other" holds the lease "b".
CREATE PROCEDURE takeover() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM take('old', 'a');
    COMMIT;
    PERFORM fencing.release(token('old'));
    COMMIT;
    PERFORM take('new', 'a');
    COMMIT;
    PERFORM take('other', 'b');
END
$$;

-- Runs a statement as {name} would who presents the tokens of these names (or none), in a
-- transaction that ends with it. Gives the SQLSTATE and the message, or the number of rows.
CREATE FUNCTION attempt(statement text, VARIADIC names text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    outcome text;
BEGIN
    PERFORM present(n) FROM unnest(names) AS n WHERE n IS NOT NULL;
    outcome := split_part(try(statement), E'\n', 1);
    RETURN CASE WHEN outcome ~ '^ok' THEN '00000' || substr(outcome, 3) ELSE outcome END;
END
$$;

-- The stale holder's attempt.
CREATE FUNCTION stale(statement text, VARIADIC names text[] DEFAULT '{old}') RETURNS text LANGUAGE sql
    AS $$SELECT 'stale: ' || attempt(statement, VARIADIC names)$$;

-- The rightful holder's.
CREATE FUNCTION rightful(statement text, VARIADIC names text[] DEFAULT '{new}') RETURNS text LANGUAGE sql
    AS $$SELECT 'rightful: ' || attempt(statement, VARIADIC names)$$;

-- For what psql reports no SQLSTATE of (COPY): whether rows of that body are there.
CREATE FUNCTION landed(body text, relation regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    rows bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM %s WHERE body = %L', relation, body) INTO rows;
    RETURN body || ': ' || CASE WHEN rows > 0 THEN '00000, rows: ' || rows ELSE 'no row' END;
END
$$;

-- What enforcement_gaps() lists: everything but notes, or all of one kind of gap.
CREATE FUNCTION listed(kind text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN 'listed: ' || coalesce((SELECT string_agg(concat_ws(' ', g.severity, g.gap, g.relation), ', ' ORDER BY g.severity, g.gap, g.relation::text)
                                     FROM fencing.enforcement_gaps() AS g
                                    WHERE CASE WHEN kind IS NULL THEN g.severity <> 'note' ELSE g.gap = kind END), 'nothing');
END
$$;
