# shellcheck shell=bash
# The same calls in a database of a thousand leases and in one of a million. Sourced by run.sh.

GROWTH_SIDES=(few many)
GROWTH_CALLS=(acquire renew release)

growth_size() {
  if [ "$1" = few ]; then echo 1000; else echo 1000000; fi
}

# growth_fill SIDE: every lease was held once. A transaction has a thousand of them: each holds locks.
growth_fill() {
  cat <<END_SQL
CREATE EXTENSION fencing;
SELECT fencing.create_namespace('bench', ttl => '12 h', max_ttl => '1 day');
CREATE PROCEDURE fill() LANGUAGE plpgsql AS \$\$
BEGIN
    FOR n IN 0 .. $(growth_size "$1") / 1000 - 1 LOOP
        PERFORM fencing.release(token) FROM (
            SELECT (fencing.acquire('bench', 'lease-' || i, 'bench')).token FROM generate_series(1000 * n, 1000 * n + 999) AS i) AS a;
        COMMIT;
    END LOOP;
END
\$\$;
CALL fill();
VACUUM ANALYZE;
END_SQL
}

# bench_growth ROUNDS SECONDS. All is in memory, and no checkpoint comes in between: after one, every
# page's first change is written whole, whatever the table.
bench_growth() {
  local round side i
  restart shared_buffers=2GB max_wal_size=16GB
  for side in "${GROWTH_SIDES[@]}"; do
    cluster_psql -c "CREATE DATABASE $side"
    growth_fill "$side" | cluster_psql -o /dev/null -d "$side"
    cat >"$CLUSTER_DIR/growth_$side.pgbench" <<END
\\set lease random(0, $(growth_size "$side") - 1)
SELECT token FROM fencing.acquire('bench', 'lease-' || :lease, 'bench') \\gset
SELECT status FROM fencing.renew(:token);
SELECT fencing.release(:token);
END
  done
  for ((round = 0; round <= $1; round++)); do
    for ((i = 0; i < 2; i++)); do
      side=${GROWTH_SIDES[(i + round) % 2]}
      PGDATABASE=$side call_results "$side" "$2" "$round" "growth_$side" "${GROWTH_CALLS[@]}" | cluster_psql
    done
  done
}
