//! What is usual without a fence: a lease table, whose rows run out, and an application that checks that it
//! holds its lease before it writes. With functions of the same names, so the same clients use it.

/// How the check is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Read the lease's row, as lock libraries do.
    Read,
    /// Lock it until the transaction ends. A write that is no transaction with its check gains nothing.
    Share,
}

/// The lease table and its functions, in the schema `byhand`.
pub fn schema(check: Check, ttl_ms: u64) -> String {
    let lock = match check {
        Check::Read => "",
        Check::Share => "FOR SHARE",
    };
    format!(
        r"CREATE SCHEMA byhand;
CREATE SEQUENCE byhand.term;
CREATE TABLE byhand.lease (namespace text, key text, token bigint NOT NULL UNIQUE, holder text,
                           acquired_at timestamptz, expires_at timestamptz, PRIMARY KEY (namespace, key)) WITH (fillfactor = 50);

CREATE FUNCTION byhand.acquire(namespace text, key text, holder text, wait interval, request_id uuid, bind_session boolean,
                               OUT status text, OUT token bigint, OUT acquired_at timestamptz, OUT expires_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE at timestamptz := clock_timestamp();
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    INSERT INTO byhand.lease AS l VALUES ($1, $2, nextval('byhand.term'), $3, at, at + interval '{ttl_ms} ms')
    ON CONFLICT (namespace, key) DO UPDATE
       SET token = excluded.token, holder = excluded.holder, acquired_at = clock_timestamp(), expires_at = clock_timestamp() + interval '{ttl_ms} ms'
     WHERE l.expires_at <= clock_timestamp()
    RETURNING 'granted', l.token, l.acquired_at, l.expires_at INTO status, token, acquired_at, expires_at;
    status := coalesce(status, 'held');
END $$;

CREATE FUNCTION byhand.renew(bigint, OUT status text, OUT expires_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    UPDATE byhand.lease SET expires_at = clock_timestamp() + interval '{ttl_ms} ms'
     WHERE token = $1 AND expires_at > clock_timestamp()
    RETURNING 'renewed', expires_at INTO status, expires_at;
    status := coalesce(status, 'expired');
END $$;

CREATE FUNCTION byhand.renew_all(bigint[], OUT status text, OUT expires_at timestamptz) RETURNS SETOF record
LANGUAGE sql AS $$ SELECT r.* FROM unnest($1) WITH ORDINALITY AS t (token, n), byhand.renew(token) AS r ORDER BY n $$;

CREATE FUNCTION byhand.release(bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    UPDATE byhand.lease SET expires_at = '-infinity' WHERE token = $1;
    RETURN CASE WHEN FOUND THEN 'released' ELSE 'superseded' END;
END $$;

CREATE FUNCTION byhand.revoke(text, text, text, grace interval) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    UPDATE byhand.lease SET expires_at = least(expires_at, clock_timestamp() + grace)
     WHERE namespace = $1 AND key = $2 AND expires_at > clock_timestamp();
    RETURN CASE WHEN NOT FOUND THEN 'not_held' WHEN grace > '0' THEN 'revoking' ELSE 'revoked' END;
END $$;

CREATE FUNCTION byhand.drop_lease(text, text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM byhand.lease WHERE namespace = $1 AND key = $2;
    RETURN CASE WHEN FOUND THEN 'deleted' ELSE 'unknown' END;
END $$;

CREATE FUNCTION byhand.evict(text, text) RETURNS SETOF int LANGUAGE sql AS 'SELECT 1 WHERE false';

CREATE FUNCTION byhand.present(bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM byhand.lease WHERE token = $1 AND expires_at > clock_timestamp() {lock};
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease is not held' USING ERRCODE = 'LF003';
    END IF;
END $$;

CREATE FUNCTION byhand.present_all(bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. cardinality($1) LOOP
        PERFORM byhand.present($1[i]);
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA byhand TO worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON byhand.lease TO worker;
GRANT USAGE ON SEQUENCE byhand.term TO worker;
"
    )
}
