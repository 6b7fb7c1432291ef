-- What the benchmark measures with: leases, tables, and the fences that people write by hand.

CREATE EXTENSION fencing;
CREATE SCHEMA bench;
SELECT fencing.create_namespace('bench', ttl => '12 h', max_ttl => '1 day');

CREATE FUNCTION bench.empty_trigger() RETURNS trigger LANGUAGE c AS 'empty_trigger', 'empty_trigger';

-- One lease for the bulk tables, one per value of their column `many`, one per client. Drawn by one
-- session alone, the tokens are consecutive: a client finds its own by adding its number.
CREATE TABLE bench.token (key text PRIMARY KEY, token bigint NOT NULL);
INSERT INTO bench.token
SELECT k.key, a.token
  FROM (SELECT 'bulk' AS key UNION ALL SELECT i::text FROM generate_series(0, 999) AS i
        UNION ALL SELECT 'client-' || i FROM generate_series(0, 31) AS i) AS k,
       LATERAL fencing.acquire('bench', k.key, 'bench', ttl => '12 h') AS a;

-- The hand-written lease table: the same leases, the same tokens.
CREATE SEQUENCE bench.hand_token;
CREATE TABLE bench.hand_lease (
    key text PRIMARY KEY, token bigint NOT NULL, holder text NOT NULL, expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);
INSERT INTO bench.hand_lease SELECT key, token, 'bench', now() + interval '12 h' FROM bench.token;
INSERT INTO bench.hand_lease VALUES ('calls', 0, 'nobody', '-infinity');

-- The hand-written fence: locks the lease's row until commit and compares. The token comes from a
-- setting of the transaction (bulk), or inline in the row (single rows).
CREATE FUNCTION bench.fence_by_setting() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    lease bench.hand_lease;
BEGIN
    SELECT * INTO lease FROM bench.hand_lease WHERE key = TG_ARGV[0] FOR SHARE;
    IF lease.token IS DISTINCT FROM nullif(current_setting('bench.token', true), '')::bigint OR lease.expires_at <= clock_timestamp() THEN
        RAISE EXCEPTION 'stale token';
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION bench.fence_by_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    lease bench.hand_lease;
BEGIN
    SELECT * INTO lease FROM bench.hand_lease WHERE key = NEW.grp FOR SHARE;
    IF lease.token IS DISTINCT FROM NEW.fence OR lease.expires_at <= clock_timestamp() THEN
        RAISE EXCEPTION 'stale token';
    END IF;
    NEW.fence := NULL;
    RETURN NEW;
END
$$;

-- Results, one row a measurement: nanoseconds a row (insert, update), transactions a second (rate,
-- lease, renew, peers, clients), leases a second (batch), percent or updates a second (storm), milliseconds (handover).
-- `pace` is how long a fixed piece of work took around it, in milliseconds: a core that shares its
-- hardware with a busy neighbour, often unseen on a virtual machine, runs at two thirds of its speed
-- for seconds on end. What was measured at a slow pace doesn't count and is measured again.
CREATE TABLE bench.result (part text, variant text, round int, value float8, pace float8);
CREATE TABLE bench.call (side text, call text, round int, us float8);
CREATE VIEW bench.judged AS
SELECT *, pace > CASE WHEN part IN ('block', 'lease', 'renew', 'peers_acquire', 'peers_renew', 'batch', 'clients') THEN 1.25 ELSE 1.15 END * min(pace) OVER (PARTITION BY part) AS slow
  FROM bench.result WHERE round > 0;

-- Until when a part is measured, and whether a variant still is: fewer than `wanted` count. The
-- warming round 0 and one round are made in any case.
CREATE TABLE bench.plan (part text PRIMARY KEY, until timestamptz);
CREATE FUNCTION bench.needed(part text, variant text, round int, wanted int) RETURNS boolean LANGUAGE sql AS $$
    SELECT round <= 1 OR now() < until
       AND wanted > (SELECT count(*) FROM bench.judged AS j WHERE j.part = $1 AND j.variant = $2 AND NOT j.slow)
      FROM bench.plan AS p WHERE p.part = $1
$$;

-- A fence that refuses nothing costs little: what is measured must refuse a statement without token.
CREATE FUNCTION bench.must_refuse(variant text, statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        EXECUTE statement;
    EXCEPTION WHEN SQLSTATE 'LF002' OR raise_exception THEN
        RETURN;
    END;
    RAISE EXCEPTION '% lets a statement pass that presents no token', variant USING ERRCODE = 'assert_failure';
END
$$;

-- The fixed piece of work.
CREATE FUNCTION bench.pace() RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    started timestamptz := clock_timestamp();
BEGIN
    PERFORM count(*) FROM generate_series(1, 50000);
    RETURN extract(epoch FROM clock_timestamp() - started) * 1e3;
END
$$;

-- Runs one statement on `rows` rows and notes how long the server took for it. Planning counts,
-- parsing and commit don't.
CREATE FUNCTION bench.measure(part text, variant text, round int, rows int, statement text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    before float8 := bench.pace();
    started timestamptz := clock_timestamp();
    ns float8;
    touched bigint;
BEGIN
    EXECUTE statement;
    GET DIAGNOSTICS touched = ROW_COUNT;
    ns := extract(epoch FROM clock_timestamp() - started) * 1e9;
    IF touched <> rows THEN
        RAISE EXCEPTION '% of % rows written by %', touched, rows, variant;
    END IF;
    INSERT INTO bench.result VALUES (part, variant, round, ns / rows, greatest(before, bench.pace()));
END
$$;

-- Presents a thousand tokens, updates the thousand rows that they stand for, and commits; notes how
-- long each of the three took, for each key. The commit doesn't wait for the disk: that would hide
-- what the last check of the terms costs.
CREATE PROCEDURE bench.measure_keys(variant text, round int) LANGUAGE plpgsql AS $$
DECLARE
    tokens bigint[] := ARRAY(SELECT token FROM bench.token WHERE key ~ '^[0-9]' ORDER BY token);
    n float8 := cardinality(tokens) / 1e9;
    before float8 := bench.pace();
    at timestamptz[];
    pace float8;
BEGIN
    COMMIT;
    SET LOCAL synchronous_commit = off;
    at[1] := clock_timestamp();
    PERFORM fencing.present_all(tokens);
    at[2] := clock_timestamp();
    UPDATE bench.keyed SET v = v + 1;
    at[3] := clock_timestamp();
    COMMIT;
    at[4] := clock_timestamp();
    pace := greatest(before, bench.pace());
    INSERT INTO bench.result VALUES
        ('keys', variant || ' present', round, extract(epoch FROM at[2] - at[1]) / n, pace),
        ('keys', variant || ' update', round, extract(epoch FROM at[3] - at[2]) / n, pace),
        ('keys', variant || ' commit', round, extract(epoch FROM at[4] - at[3]) / n, pace);
END
$$;
