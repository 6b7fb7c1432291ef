-- What the tests of remote destinations share, beside the helpers. No test of its own.

-- Tokens are called by epoch and number: {5:1}.
INSERT INTO named SELECT e || ':' || n, fencing.make_token(e, n) FROM generate_series(4, 7) AS e, generate_series(1, 9) AS n;

-- Identities of epochs.
CREATE FUNCTION id(n int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$SELECT format('00000000-0000-4000-8000-%s', lpad(n::text, 12, '0'))::uuid$$;

-- Presents the token of that name for a lease.
CREATE FUNCTION present(name text, key text, namespace text DEFAULT 'jobs') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fencing.present($3, $2, token($1));
    RETURN 'presented';
END
$$;

-- Runs a statement under a token, in a savepoint of its own.
CREATE FUNCTION under(name text, statement text, key text DEFAULT 'a', namespace text DEFAULT 'jobs') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN try(format('DO %L', format('BEGIN PERFORM fencing.present(%L, %L, %s); %s; END', $4, $3, token($1), $2)));
END
$$;

-- What is stored.
CREATE VIEW stored AS SELECT coordinator, namespace, key, name_of(token) FROM fencing.remote_fence ORDER BY coordinator, namespace, key;
