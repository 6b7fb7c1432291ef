# shellcheck shell=bash
# What one transaction writes to the log, and how many multixacts it takes (row locks that transactions
# share; PostgreSQL must vacuum whole tables before it runs out of their numbers). Counted, not timed.
# Medians of rounds: in the first ones, pages are written whole, as each is with its first change after
# a checkpoint. Sourced by run.sh.

WAL_CLIENTS=8
WAL_LEASES=1000
WAL_ROUNDS=5

# bench_wal TRANSACTIONS: of each client that writes.
bench_wal() {
  wal_writes "$1"
  wal_calls
}

# wal_count VARIANT ROUND COUNT COMMAND...: what the command, that many transactions, took for each.
wal_count() {
  local variant=$1 round=$2 count=$3 before after
  shift 3
  before=$(wal_position)
  "$@" >/dev/null
  after=$(wal_position)
  note wal "$variant" "$round" "(${after% *} - ${before% *}) / $count.0" 1
  note multixacts "$variant" "$round" "(${after#* } - ${before#* }) / $count.0" 1
}

# wal_position: bytes of log, and multixacts, since there are any.
wal_position() {
  cluster_psql -At -F ' ' -c "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn, mxid_age('1'::xid)"
}

# wal_writes TRANSACTIONS: single rows, by clients that write under one lease, each to rows of its own.
wal_writes() {
  local variants=(unguarded inline by_hand application) variant round
  # shellcheck disable=SC2034 # single_row.sh uses them
  local RATE_CLIENTS=1 RATE_ROWS=$((WAL_CLIENTS * 100)) # all rows are the first client's
  for variant in "${variants[@]}"; do
    rate_table "$variant" "bench.wal_$variant" | cluster_psql -o /dev/null
    {
      echo "\\set id 100 * :client_id + random(0, 99)"
      rate_script "$variant" | sed -e 1,2d -e "s/bench\.$variant/bench.wal_$variant/; s/:client_id/0/"
    } >"$CLUSTER_DIR/wal_$variant.pgbench"
  done
  for ((round = 0; round <= WAL_ROUNDS; round++)); do
    for variant in "${variants[@]}"; do
      wal_count "$variant" "$round" $((WAL_CLIENTS * $1)) \
        rate_pgbench "wal_$variant" -M prepared -c $WAL_CLIENTS -j 2 -t "$1" -D "token=$(first_client)"
    done
  done
}

# wal_calls: by one session, each call a transaction.
wal_calls() {
  local round side call
  for ((round = 0; round <= WAL_ROUNDS; round++)); do
    for side in fencing by_hand; do
      for call in acquire renew release; do
        wal_count "$side $call" "$round" "$WAL_LEASES" wal_each "$side" "$call"
      done
    done
  done
}

# wal_each SIDE CALL: the call for each lease.
wal_each() {
  local leases="generate_series(1, $WAL_LEASES) AS i" held="fencing.lease WHERE key ~ '^wal-' AND state = 'held'" call
  case "$1 $2" in
  "fencing acquire") call="SELECT format('SELECT fencing.acquire(''bench'', ''wal-%s'', ''bench'')', i) FROM $leases" ;;
  "fencing renew") call="SELECT format('SELECT fencing.renew(%s)', token) FROM $held" ;;
  "fencing release") call="SELECT format('SELECT fencing.release(%s)', token) FROM $held" ;;
  "by_hand acquire") call="SELECT format('INSERT INTO bench.hand_lease AS l VALUES (''wal-%s'', nextval(''bench.hand_token''), ''bench'', clock_timestamp() + interval ''12 h'')
    ON CONFLICT (key) DO UPDATE SET token = excluded.token, holder = excluded.holder, expires_at = excluded.expires_at WHERE l.expires_at <= clock_timestamp()', i) FROM $leases" ;;
  "by_hand renew") call="SELECT format('UPDATE bench.hand_lease SET expires_at = clock_timestamp() + interval ''12 h'' WHERE key = %L AND token = %s AND expires_at > clock_timestamp()', key, token)
    FROM bench.hand_lease WHERE key ~ '^wal-'" ;;
  "by_hand release") call="SELECT format('UPDATE bench.hand_lease SET expires_at = ''-infinity'' WHERE key = %L AND token = %s', key, token)
    FROM bench.hand_lease WHERE key ~ '^wal-'" ;;
  esac
  printf '%s \\gexec\n' "$call" | cluster_psql
}
