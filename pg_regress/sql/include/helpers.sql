-- What the tests share: tokens by name (their numbers are random), and statements that may fail.
-- No test of its own.

\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only on
\pset null NULL
SET client_min_messages = warning;

CREATE TABLE named (name text PRIMARY KEY, token bigint NOT NULL);
GRANT SELECT, INSERT, UPDATE ON named TO PUBLIC;

-- The token that take() called so.
CREATE FUNCTION token(name text) RETURNS bigint LANGUAGE sql STABLE
    AS 'SELECT n.token FROM named AS n WHERE n.name = $1';

-- The name of a token, where it has one.
CREATE FUNCTION name_of(token bigint) RETURNS text LANGUAGE sql STABLE
    AS 'SELECT coalesce((SELECT n.name FROM named AS n WHERE n.token = $1), $1::text)';

-- Acquires a lease and calls its token so; gives the status.
CREATE FUNCTION take(name text, key text DEFAULT 'a', namespace text DEFAULT 'jobs', ttl interval DEFAULT NULL)
    RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer record;
BEGIN
    SELECT * INTO answer FROM fencing.acquire($3, $2, holder => $1, ttl => $4);
    IF answer.token IS NOT NULL THEN
        INSERT INTO named AS n VALUES ($1, answer.token) ON CONFLICT ON CONSTRAINT named_pkey DO UPDATE SET token = answer.token;
    END IF;
    RETURN answer.status;
END
$$;

-- Presents the token of that name.
CREATE FUNCTION present(name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fencing.present(token($1));
    RETURN 'presented';
END
$$;

-- Puts names for tokens, in both of their forms.
CREATE FUNCTION masked(message text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    n record;
BEGIN
    FOR n IN SELECT * FROM named LOOP
        message := replace(message, format('%s:%s (%s)', n.token >> 39, n.token & 549755813887, n.token), '<' || n.name || '>');
        message := replace(message, n.token::text, '<' || n.name || '>');
    END LOOP;
    RETURN message;
END
$$;

-- Runs a statement, {name} in it being a token's number, in a savepoint of its own: ok, or
-- SQLSTATE and message with DETAIL and HINT. The hints of class LF are the same everywhere and
-- shown by the test "errors" alone.
CREATE FUNCTION try(statement text, hints boolean DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    n record;
    message text;
    rows bigint;
    part text;
BEGIN
    FOR n IN SELECT * FROM named LOOP
        statement := replace(statement, '{' || n.name || '}', n.token::text);
    END LOOP;
    EXECUTE statement;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN CASE WHEN statement ~* '^\s*(insert|update|delete|merge|with)' THEN 'ok, rows: ' || rows ELSE 'ok' END;
EXCEPTION WHEN OTHERS THEN
    message := SQLSTATE || ' ' || SQLERRM;
    GET STACKED DIAGNOSTICS part = PG_EXCEPTION_DETAIL;
    IF part <> '' THEN
        message := message || E'\nDETAIL:  ' || part;
    END IF;
    GET STACKED DIAGNOSTICS part = PG_EXCEPTION_HINT;
    IF part <> '' AND coalesce(hints, SQLSTATE !~ '^LF') THEN
        message := message || E'\nHINT:  ' || part;
    END IF;
    RETURN masked(message);
END
$$;
