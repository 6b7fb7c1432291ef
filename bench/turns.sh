# shellcheck shell=bash
# Rates in turns. The clients of all variants stay connected; one variant after the other goes on for a
# tenth of a second, in an order that is drawn anew each time, and the others stand still. Whatever slows
# the machine down for a while slows all of them, and a session's first statements don't count.
# Sourced by run.sh.

TURN=0.1
# Where its memory lies makes a session faster or slower by a percent: there are several sets of them.
TURNS=20 # a set
TURN_CLIENTS=()

# bench_turns PART SETS SECONDS VARIANT...: so many sets, or what fits in SECONDS. Variants as those of
# single_row.sh, of one statement a transaction: who is stopped inside of one would hold it open.
bench_turns() {
  local part=$1 sets=$2 until=$((SECONDS + $3)) set
  shift 3
  for ((set = 1; set <= sets && (set <= 2 || SECONDS < until); set++)); do
    turns_measure "$part" "$set" "$@"
  done
}

# turns_measure PART SET VARIANT...
turns_measure() {
  local part=$1 set=$2 variant turn start updates
  local -A pid=() before=() spent=()
  shift 2
  {
    for variant; do rate_table_names "$variant" | sed 's/.*/VACUUM &;/'; done
    echo "CHECKPOINT;"
  } | cluster_psql
  for variant in $(shuf -e "$@"); do
    turns_start "$variant"
    pid[$variant]=${TURN_CLIENTS[-1]}
    before[$variant]=$(turns_updates "$variant")
    spent[$variant]=0
  done
  for ((turn = 0; turn < TURNS; turn++)); do
    for variant in $(shuf -e "$@"); do
      start=${EPOCHREALTIME//[!0-9]/}
      kill -CONT "${pid[$variant]}"
      sleep "$TURN"
      kill -STOP "${pid[$variant]}"
      spent[$variant]=$((spent[$variant] + ${EPOCHREALTIME//[!0-9]/} - start))
      sleep 0.01 # what was sent is done
    done
  done
  turns_stop
  for variant; do
    updates=$(($(turns_updates "$variant") - before[$variant]))
    note "$part" "$variant" "$set" "$updates * 1e6 / ${spent[$variant]}" NULL
  done
}

# turns_start VARIANT: its clients, stopped once each has done its first statements. Adds to TURN_CLIENTS.
turns_start() {
  local warm
  warm=$(($(turns_updates "$1") + 1000 * RATE_CLIENTS))
  "$CLUSTER_BIN/pgbench" -n -f "$CLUSTER_DIR/$1.pgbench" -M prepared -c "$RATE_CLIENTS" -j 2 -T 3600 \
    -D "first_token=$(first_client)" &
  TURN_CLIENTS+=($!)
  while [ "$(turns_updates "$1")" -lt "$warm" ]; do
    kill -0 $! || die "pgbench failed ($1)"
  done
  kill -STOP $!
}

# turns_updates VARIANT: how many rows it has updated so far.
turns_updates() {
  cluster_psql -At -c "SELECT sum(v) FROM ($(rate_table_names "$1" | sed 's/.*/SELECT v FROM &/; 2,$s/^/UNION ALL /')) AS t"
}

# turns_stop: also at exit.
turns_stop() {
  [ ${#TURN_CLIENTS[@]} -gt 0 ] || return 0
  kill -TERM "${TURN_CLIENTS[@]}" || true
  kill -CONT "${TURN_CLIENTS[@]}" || true
  wait "${TURN_CLIENTS[@]}" || true
  TURN_CLIENTS=()
}
