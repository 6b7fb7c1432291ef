#!/usr/bin/env bash
# Measures what guards cost, on a private cluster, and prints one table. Every
# figure is a comparison with a baseline that was measured in the same rounds.
#   QUICK=1         a short form, of about a minute, for a first look
#   BENCH_STRICT=1  fail where a target is missed
#   BENCH_ONLY="bulk rate calls"  parts of it
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
for part in ../scripts/lib ../scripts/postgres ../scripts/cluster bulk single_row calls; do
  # shellcheck source=/dev/null
  . "$here/$part.sh"
done

# Rounds, seconds of a run, and after how many seconds nothing is measured again.
if [ -n "${QUICK:-}" ]; then
  BULK_ROUNDS=3 BULK_TIME=25 RATE_ROUNDS=3 RATE_SECONDS=1 RATE_TIME=20 CALL_ROUNDS=2 CALL_SECONDS=1
else
  BULK_ROUNDS=9 BULK_TIME=180 RATE_ROUNDS=15 RATE_SECONDS=1 RATE_TIME=220 CALL_ROUNDS=5 CALL_SECONDS=2
fi
BULK_ROWS=200000
# shellcheck disable=SC2034 # bulk.sh and single_row.sh use it
ATTEMPTS=5 # at a measurement, where the machine is slow
only=${BENCH_ONLY:-bulk rate calls}

# Nothing runs in the middle of a measurement that the measurement did not ask for.
settings=(
  fsync=on synchronous_commit=on full_page_writes=on wal_level=replica
  shared_buffers=512MB wal_buffers=64MB max_wal_size=8GB min_wal_size=2GB checkpoint_timeout=1h
  autovacuum=off bgwriter_lru_maxpages=0 max_parallel_workers_per_gather=0 jit=off
  log_min_messages=error
)

# build_empty_trigger: into the private cluster's own directory of libraries.
build_empty_trigger() {
  local to=$CLUSTER_DIR/pg$PG_PKGLIBDIR/empty_trigger.so
  command -v "${CC:-cc}" >/dev/null || die "no C compiler: install cc, or set CC"
  "${CC:-cc}" -O2 -Wall -Werror -fPIC -shared -I "$("$PG_CONFIG" --includedir-server)" "$here/empty_trigger.c" -o "$to"
  chmod a+rx "$to"
}

# retry_for SECONDS: slow measurements are repeated for so long.
retry_for() {
  cluster_psql -c "TRUNCATE bench.deadline" -c "INSERT INTO bench.deadline VALUES (now() + interval '$1 s')"
}

machine() {
  say "machine     $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $(nproc) cores, Linux $(uname -r)"
  say "server      $PG_VERSION"
  say "settings    ${settings[*]}" | fold -s -w 110 | sed '2,$s/^/            /'
  say "rounds      bulk $BULK_ROUNDS, rates $RATE_ROUNDS of $RATE_SECONDS s each, calls $CALL_ROUNDS of $CALL_SECONDS s each; the order rotates, a round before them warms up"
  say "date        $(date -u '+%Y-%m-%d %H:%M UTC'), load before the start: $(cut -d ' ' -f 1 /proc/loadavg)"
}

"$here/../scripts/build.sh" release
writable_dir "$TARGET/bench"
pg_use
machine_lines=$(machine)
trap cluster_remove EXIT
cluster_create "$TARGET/package/release" "${settings[@]}"
build_empty_trigger
cluster_start
cluster_psql -o /dev/null -f "$here/schema.sql"

for part in $only; do
  case $part in
  bulk) step "$TARGET/bench/bulk.log" "statements on $BULK_ROWS rows" bench_bulk "$BULK_ROUNDS" "$BULK_TIME" ;;
  rate) step "$TARGET/bench/rate.log" "single-row statements" bench_rate "$RATE_ROUNDS" "$RATE_SECONDS" "$RATE_TIME" ;;
  calls) step "$TARGET/bench/calls.log" "calls" bench_calls "$CALL_ROUNDS" "$CALL_SECONDS" ;;
  *) die "BENCH_ONLY names bulk, rate, calls; not $part" ;;
  esac
done

for results in bulk rate call; do # every single measurement, for whoever wants to look
  cluster_psql -c "COPY bench.$results TO STDOUT (FORMAT csv, HEADER)" >"$TARGET/bench/$results.csv"
done
say
say "$machine_lines"
cluster_psql -At -v "rows=$BULK_ROWS" -f "$here/report.sql" | tee "$TARGET/bench/report.txt"
say
say "ns a row: beyond the unguarded statement; x empty: that over what the empty C trigger costs beyond it; by hand: what the"
say "PL/pgSQL fence costs over that. x of rates: over the unguarded one (each: over its own). x of calls: over the call by hand."
say "Medians over rounds, [quartiles] of the figure compared; ~ means that the machine was slow in all rounds, or almost."
missed=$({ grep -o MISS "$TARGET/bench/report.txt" || true; } | wc -l)
say
say "$missed targets missed; every measurement: $TARGET/bench/*.csv"
[ -z "${BENCH_STRICT:-}" ] || [ "$missed" -eq 0 ]
