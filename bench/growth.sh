# shellcheck shell=bash
# The same calls, and a write with and without a guard, in databases of one lease to a million; and the
# same write by one client to 32. Sourced by run.sh.

GROWTH_CALLS=(acquire renew guarded unguarded release)
CLIENT_COUNTS=(1 4 8 16 32)

# growth_database SIZE: every lease was held once, and has a row of its own in either table.
growth_database() {
  local table
  cat <<END_SQL
CREATE EXTENSION fencing;
SELECT fencing.create_namespace('bench', ttl => '12 h', max_ttl => '1 day');
-- A transaction takes a thousand of them: each holds locks.
CREATE PROCEDURE fill(low int, high int) LANGUAGE plpgsql AS \$\$
BEGIN
    FOR start IN low .. high BY 1000 LOOP
        PERFORM fencing.release(token) FROM (
            SELECT (fencing.acquire('bench', 'lease-' || i, 'bench')).token FROM generate_series(start, least(start + 999, high)) AS i) AS a;
        COMMIT;
    END LOOP;
END
\$\$;
END_SQL
  for table in guarded unguarded; do
    echo "CREATE TABLE $table (id int PRIMARY KEY, grp text NOT NULL, v int NOT NULL, body text NOT NULL, fence bigint) WITH (fillfactor = 50);"
    echo "INSERT INTO $table SELECT i, 'lease-' || i, 0, md5(i::text) FROM generate_series(0, $1 - 1) AS i;"
  done
  echo "SELECT fencing.protect('guarded', 'bench', key_columns => '{grp}', present_column => 'fence');"
}

# growth_fill SIZE: on both cores.
growth_fill() {
  local database=leases_$1 other
  cluster_psql -c "CREATE DATABASE $database"
  growth_database "$1" | cluster_psql -o /dev/null -d "$database" || return
  cluster_psql -d "$database" -c "CALL fill(0, $1 / 2 - 1)" &
  other=$!
  cluster_psql -d "$database" -c "CALL fill($1 / 2, $1 - 1)" && wait $other && cluster_psql -d "$database" -c "VACUUM ANALYZE"
}

# bench_growth ROUNDS SECONDS SIZE ... All is in memory, and no checkpoint comes in between, nor a restart, which
# is one: after it, every page's first change is written whole, whatever the table.
bench_growth() {
  local rounds=$1 seconds=$2 round size i
  shift 2
  local sizes=("$@") n=$#
  restart shared_buffers=3GB max_wal_size=16GB fsync=off
  for size in "${sizes[@]}"; do
    growth_fill "$size" || die "no database of $size leases"
    cat >"$CLUSTER_DIR/growth_$size.pgbench" <<END
\\set lease random(0, $size - 1)
SELECT token FROM fencing.acquire('bench', 'lease-' || :lease, 'bench') \\gset
SELECT status FROM fencing.renew(:token);
UPDATE guarded SET v = v + 1, fence = :token WHERE id = :lease;
UPDATE unguarded SET v = v + 1, fence = NULL WHERE id = :lease;
SELECT fencing.release(:token);
END
  done
  reload fsync=on
  sync -f "$CLUSTER_DATA" # what was left to the system so far
  for ((round = 0; round <= rounds; round++)); do
    for ((i = 0; i < n; i++)); do
      size=${sizes[(i + round) % n]}
      PGDATABASE=leases_$size call_results "$size" "$seconds" "$round" "growth_$size" "${GROWTH_CALLS[@]}" | cluster_psql || die "no results"
    done
  done
}

# bench_clients ROUNDS SECONDS RUN: rounds as those of single_row.sh, from which all but the number of
# clients is.
bench_clients() {
  # shellcheck disable=SC2034 # single_row.sh uses it
  local RATE_CLIENTS=32
  local runs=() n round i until variant clients
  for variant in inline unguarded; do
    rate_table "$variant" "bench.clients_$variant"
    # The table's name is the script's own.
    rate_script "$variant" | sed "s/bench\.$variant/bench.clients_$variant/" >"$CLUSTER_DIR/clients_$variant.pgbench"
  done | cluster_psql -o /dev/null || die "no tables"
  for clients in "${CLIENT_COUNTS[@]}"; do
    runs+=("inline $clients" "unguarded $clients")
  done
  n=${#runs[@]}
  pace_script
  until=$((SECONDS + $2))
  for ((round = 0; round <= $1 && (round <= 2 || SECONDS < until); round++)); do
    for ((i = 0; i < n; i++)); do
      # shellcheck disable=SC2086 # two words
      clients_measure ${runs[round % 2 ? n - 1 - i : i]} "$round" "$3"
    done
  done
}

# clients_measure VARIANT CLIENTS ROUND RUN
clients_measure() {
  local before after tps threads=2
  [ "$2" -gt 1 ] || threads=1
  cluster_psql -c "VACUUM bench.clients_$1" -c CHECKPOINT
  before=$(rate_pace)
  tps=$(rate_pgbench "clients_$1" -M prepared -c "$2" -j $threads -T "$4" -D "first_token=$(first_client)" | tps)
  after=$(rate_pace)
  note clients "$1 $2" "$3" "$tps" "greatest($before, $after)"
}
