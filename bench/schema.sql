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
        UNION ALL SELECT 'client-' || i FROM generate_series(0, 7) AS i) AS k,
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
    IF lease.token IS DISTINCT FROM current_setting('bench.token')::bigint OR lease.expires_at <= clock_timestamp() THEN
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

-- Results, one row a measurement. `pace` is how long a fixed piece of work took around it, in
-- milliseconds: a core that shares its hardware with a busy neighbour, often unseen on a virtual
-- machine, runs at two thirds of its speed. A measurement at a slow pace is repeated, and of a
-- round's attempts the one at the best pace counts.
CREATE TABLE bench.bulk (operation text, variant text, round int, ns_per_row float8, pace float8);
CREATE TABLE bench.rate (variant text, round int, tps float8, pace float8);
CREATE TABLE bench.call (side text, call text, round int, us float8);

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
CREATE FUNCTION bench.measure(operation text, variant text, round int, rows int, statement text) RETURNS void
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
    INSERT INTO bench.bulk VALUES (operation, variant, round, ns / rows, greatest(before, bench.pace()));
END
$$;

-- Until when slow measurements are repeated.
CREATE TABLE bench.deadline (at timestamptz);

-- Whether to measure again: every attempt of this round was slow beside the best pace of all.
CREATE FUNCTION bench.again(operation text, variant text, round int) RETURNS boolean LANGUAGE sql AS $$
    SELECT min(pace) > 1.15 * (SELECT min(pace) FROM bench.bulk) AND clock_timestamp() < (SELECT at FROM bench.deadline)
      FROM bench.bulk AS b WHERE b.operation = $1 AND b.variant = $2 AND b.round = $3
$$;
CREATE FUNCTION bench.again(variant text, round int) RETURNS boolean LANGUAGE sql AS $$
    SELECT min(pace) > 1.15 * (SELECT min(pace) FROM bench.rate) AND clock_timestamp() < (SELECT at FROM bench.deadline)
      FROM bench.rate AS b WHERE b.variant = $1 AND b.round = $2
$$;
