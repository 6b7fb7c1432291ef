#!/usr/bin/env bash
# Measures what guards and leases cost, on a private cluster, and prints one table. Every
# figure is a comparison with a baseline that was measured in between.
#   QUICK=1         a short form, for a first look
#   BENCH_STRICT=1  fail where a target is missed
#   BENCH_ONLY="bulk partitions keys rate clients calls leases peers batch storm handover takeover growth wal"  parts of it
#   BULK_ROWS=200000  rows of the first two
#   HUGE_PAGES=off  without huge pages, also where the kernel would give them
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
for part in ../scripts/lib ../scripts/postgres ../scripts/cluster bulk turns single_row calls leases peers growth wal huge_pages; do
  # shellcheck source=/dev/null
  . "$here/$part.sh"
done

# How many good measurements of each bulk variant (of INSERT twice as many), of each
# on partitions, and sets and rounds of rates; none for longer than these seconds.
if [ -n "${QUICK:-}" ]; then
  BULK_WANTED=2 BULK_TIME=30 PART_WANTED=2 PART_TIME=15 KEYS_ROUNDS=5 RATE_SETS=4 RATE_ROUNDS=3 RATE_TIME=60 CALL_ROUNDS=2 CALL_SECONDS=1
  LEASE_ROUNDS=3 LEASE_TIME=45 PEER_ROUNDS=2 PEER_TIME=45 BATCH_ROUNDS=2 STORM_RUN=3 HANDOVER_RUN=3
  CLIENT_ROUNDS=2 CLIENT_TIME=45 GROWTH_ROUNDS=2 GROWTH_SIZES=(1 1000 10000 100000)
else
  BULK_WANTED=9 BULK_TIME=210 PART_WANTED=9 PART_TIME=75 KEYS_ROUNDS=25 RATE_SETS=30 RATE_ROUNDS=12 RATE_TIME=600 CALL_ROUNDS=5 CALL_SECONDS=2
  LEASE_ROUNDS=15 LEASE_TIME=200 PEER_ROUNDS=15 PEER_TIME=180 BATCH_ROUNDS=9 STORM_RUN=10 HANDOVER_RUN=10
  CLIENT_ROUNDS=9 CLIENT_TIME=180 GROWTH_ROUNDS=7 GROWTH_SIZES=(1 1000 10000 100000 1000000)
fi
# A session's first guarded write loads the library and finds the guard (a millisecond): in shorter runs that would be seen.
RATE_RUN=3 LEASE_RUN=2 WAL_TRANSACTIONS=1000 BULK_ROWS=${BULK_ROWS:-200000}
# shellcheck disable=SC2034 # bulk.sh uses it
MOST_ROUNDS=50
parts='bulk partitions keys rate clients calls leases peers batch storm handover takeover growth wal'
only=${BENCH_ONLY:-$parts}

# Nothing runs in the middle of a measurement that the measurement did not ask for.
settings=(
  fsync=on synchronous_commit=on full_page_writes=on wal_level=replica
  shared_buffers=512MB wal_buffers=64MB max_wal_size=8GB min_wal_size=2GB checkpoint_timeout=1h
  autovacuum=off bgwriter_lru_maxpages=0 max_parallel_workers_per_gather=0 jit=off
  log_min_messages=error
)

# What the largest of them takes (growth), in megabytes.
SERVER_MEMORY=3500

# build_empty_trigger: into the private cluster's own directory of libraries.
build_empty_trigger() {
  local to=$CLUSTER_DIR/pg$PG_PKGLIBDIR/empty_trigger.so
  command -v "${CC:-cc}" >/dev/null || die "no C compiler: install cc, or set CC"
  "${CC:-cc}" -O2 -Wall -Werror -fPIC -shared -I "$("$PG_CONFIG" --includedir-server)" "$here/empty_trigger.c" -o "$to"
  chmod a+rx "$to"
}

# build_program: which loads the peers and draws the pictures.
build_program() {
  cargo build --manifest-path "$ROOT/Cargo.toml" --profile load -p fencing-bench
}

# plan PART SECONDS
plan() {
  cluster_psql -c "INSERT INTO bench.plan VALUES ('$1', now() + interval '$2 s')"
}

# restart SETTING=VALUE ...: goes on with other settings.
restart() {
  cluster_stop
  printf '%s\n' "$@" >>"$CLUSTER_DATA/postgresql.conf"
  cluster_start
}

# reload SETTING=VALUE: goes on with another setting, without a restart.
reload() {
  echo "$1" >>"$CLUSTER_DATA/postgresql.conf"
  cluster_psql -o /dev/null -c "SELECT pg_reload_conf()"
}

# note PART VARIANT ROUND VALUE PACE: records a result; the last two are SQL.
note() {
  cluster_psql -c "INSERT INTO bench.result VALUES ('$1', '$2', $3, $4, $5)" || die "no result: $*"
}

# in_rounds ROUNDS SECONDS MEASURE RUN VARIANT...: so many rounds, or what fits in SECONDS, each whole and in
# another order: MEASURE VARIANT ROUND RUN.
in_rounds() {
  local rounds=$1 until=$((SECONDS + $2)) measure=$3 run=$4 variants=("${@:5}") n round i
  n=${#variants[@]}
  for ((round = 0; round <= rounds && (round <= 2 || SECONDS < until); round++)); do
    for ((i = 0; i < n; i++)); do
      "$measure" "${variants[((round % 2 ? n - 1 - i : i) + round) % n]}" "$round" "$run"
    done
  done
}

# tps: transactions a second, of what pgbench says.
tps() {
  sed -n 's/^tps = \([0-9.]*\).*/\1/p'
}

machine() {
  say "machine     $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $(nproc) cores, Linux $(uname -r)"
  say "server      $PG_VERSION"
  say "settings    ${settings[*]}" | fold -s -w 110 | sed '2,$s/^/            /'
  say "rounds      interleaved, in rotating order. Bulk: until $BULK_WANTED UPDATEs and $((2 * BULK_WANTED)) INSERTs of each variant were measured"
  say "            at the machine's full pace, or for $BULK_TIME s; partitions: $PART_WANTED, $PART_TIME s; keys: $KEYS_ROUNDS rounds. Calls: $CALL_ROUNDS of $CALL_SECONDS s"
  say "            Rates: $RATE_SETS sets of sessions, $TURNS turns of $TURN s in each; blocks: $RATE_ROUNDS rounds of $RATE_RUN s runs; or what fits in $RATE_TIME s"
  say "            Clients: $CLIENT_ROUNDS, or $CLIENT_TIME s. Leases: $LEASE_ROUNDS rounds of $LEASE_RUN s runs, or what fits in $LEASE_TIME s, with wal_buffers=16MB; peers: $PEER_ROUNDS, or $PEER_TIME s; batches: $BATCH_ROUNDS; growth: $GROWTH_ROUNDS, with shared_buffers=3GB"
  say "date        $(date -u '+%Y-%m-%d %H:%M UTC'), load before the start: $(cut -d ' ' -f 1 /proc/loadavg)"
}

"$here/../scripts/build.sh" release
writable_dir "$TARGET/bench"
case $only in *peers*) "$here/../scripts/setup.sh" etcd redis ;; esac
step "$TARGET/bench/build.log" "building fencing-bench" build_program || die "the build failed: see $TARGET/bench/build.log"
pg_use
trap 'turns_stop; peers_stop; cluster_remove; huge_pages_give_back' EXIT
huge_pages_take $SERVER_MEMORY
settings+=(huge_pages="$HUGE_PAGES")
machine_lines=$(machine)
cluster_create "$TARGET/package/release" "${settings[@]}"
build_empty_trigger
cluster_start
cluster_psql -o /dev/null -f "$here/schema.sql"

for part in $only; do
  case $part in
  bulk) step "$TARGET/bench/bulk.log" "statements on $BULK_ROWS rows" bench_bulk "$BULK_WANTED" "$BULK_TIME" ;;
  partitions) step "$TARGET/bench/partitions.log" "the same on 64 partitions" bench_partitions "$PART_WANTED" "$PART_TIME" ;;
  keys) step "$TARGET/bench/keys.log" "1000 leases in one transaction" bench_keys "$KEYS_ROUNDS" ;;
  rate) step "$TARGET/bench/rate.log" "single-row statements" bench_rate "$RATE_SETS" "$RATE_ROUNDS" "$RATE_TIME" "$RATE_RUN" ;;
  clients) step "$TARGET/bench/clients.log" "the same by 1 client to 32" bench_clients "$CLIENT_ROUNDS" "$CLIENT_TIME" "$RATE_RUN" ;;
  calls) step "$TARGET/bench/calls.log" "calls" bench_calls "$CALL_ROUNDS" "$CALL_SECONDS" ;;
  leases) step "$TARGET/bench/leases.log" "leases" bench_leases "$LEASE_ROUNDS" "$LEASE_TIME" "$LEASE_RUN" ;;
  peers) step "$TARGET/bench/peers.log" "etcd, Redis, and a table by hand" bench_peers "$PEER_ROUNDS" "$PEER_TIME" "$LEASE_RUN" ;;
  batch) step "$TARGET/bench/batch.log" "renewals in one statement" bench_batch "$BATCH_ROUNDS" "$CALL_SECONDS" ;;
  storm) step "$TARGET/bench/storm.log" "a renewal storm" bench_storm "$STORM_RUN" ;;
  handover) step "$TARGET/bench/handover.log" "hand-over to waiters" bench_handover "$HANDOVER_RUN" ;;
  takeover) step "$TARGET/bench/takeover.log" "taking over what expires" bench_takeover "$HANDOVER_RUN" ;;
  growth) step "$TARGET/bench/growth.log" "one lease to a million" bench_growth "$GROWTH_ROUNDS" "$CALL_SECONDS" "${GROWTH_SIZES[@]}" ;;
  wal) step "$TARGET/bench/wal.log" "log and multixacts of one transaction" bench_wal "$WAL_TRANSACTIONS" ;;
  *) die "BENCH_ONLY names some of: $parts; not $part" ;;
  esac
done

for results in result call; do # every single measurement, for whoever wants to look
  cluster_psql -c "COPY bench.$results TO STDOUT (FORMAT csv, HEADER)" >"$TARGET/bench/$results.csv"
done
say
say "$machine_lines"
cluster_psql -At -v "rows=$BULK_ROWS" -v "pictures=$TARGET/bench/pictures.tsv" -f "$here/report.sql" | tee "$TARGET/bench/report.txt"
"$TARGET/load/fencing-bench" draw "$TARGET/bench" "$TARGET/bench/pictures.tsv"
say
say "n measurements count. ns a row: medians, beyond the unguarded statement's; x empty: that over what the empty C trigger"
say "costs beyond it; by hand: what the PL/pgSQL fence costs over that. Rates and calls: x is the median of the ratios to the"
say "unguarded rate, or to the same by hand, of the same set of sessions or round; of rounds the half at the better pace. ~: slow throughout."
say "Of so many leases: x that among 1,000; the guarded UPDATE's x the unguarded one's. Log: x the unguarded UPDATE, or the same by hand."
missed=$({ grep -o MISS "$TARGET/bench/report.txt" || true; } | wc -l)
say
say "$missed targets missed; every measurement: $TARGET/bench/*.csv; pictures: $TARGET/bench/*.svg"
[ -z "${BENCH_STRICT:-}" ] || [ "$missed" -eq 0 ]
