# shellcheck shell=bash
# What leases take: 16 clients over 1,000 leases against a hand-written lease table, a batch of
# renewals in one statement, a renewal storm, and how soon a released lease has its next holder.
# Sourced by run.sh.

LEASE_CLIENTS=16
LEASES=1000
STORM_LEASES=10000
WAITERS=50
TAKEN_OVER=8
# Neighbours in a round are compared best: the baseline stands in the middle.
LEASE_VARIANTS=(floor fencing by_hand fencing_off by_hand_off renew renew_by_hand)
BATCH_VARIANTS=(renew_one renew_all renew_all_by_hand)

# lease_script VARIANT: what a client does, over and over. Each has the leases whose number modulo the
# clients is its own: no call ever loses.
lease_script() {
  echo "\\set lease :client_id + $LEASE_CLIENTS * random(0, ($LEASES - 1 - :client_id) / $LEASE_CLIENTS)"
  case $1 in
  fencing*)
    echo "SELECT token FROM fencing.acquire('bench', 'lease-' || :lease, 'bench') \\gset"
    echo "SELECT fencing.release(:token);"
    ;;
  by_hand*)
    echo "INSERT INTO bench.hand_lease AS l VALUES ('lease-' || :lease, nextval('bench.hand_token'), 'bench', clock_timestamp() + interval '12 h')" \
      "ON CONFLICT (key) DO UPDATE SET token = excluded.token, holder = excluded.holder, expires_at = excluded.expires_at" \
      "WHERE l.expires_at <= clock_timestamp() RETURNING token \\gset"
    echo "UPDATE bench.hand_lease SET expires_at = '-infinity' WHERE key = 'lease-' || :lease AND token = :token;"
    ;;
  floor)
    echo "UPDATE bench.hand_lease SET holder = 'bench' WHERE key = 'lease-' || :lease;"
    echo "UPDATE bench.hand_lease SET holder = 'bench' WHERE key = 'lease-' || :lease;"
    ;;
  renew)
    echo "\\set token :first_token + :lease"
    echo "SELECT status, expires_at FROM fencing.renew(:token);"
    ;;
  renew_by_hand)
    echo "\\set token :first_token + :lease"
    echo "UPDATE bench.hand_lease SET expires_at = clock_timestamp() + interval '12 h'" \
      "WHERE key = 'renew-' || :lease AND token = :token AND expires_at > clock_timestamp() RETURNING expires_at;"
    ;;
  esac
}

# lease_rows: leases that are acquired and released, and leases that are held and renewed. Drawn by one
# session alone, the tokens of the latter are consecutive.
lease_rows() {
  local all="generate_series(0, $((LEASES - 1))) AS i"
  echo "SELECT fencing.release(token) FROM (SELECT (fencing.acquire('bench', 'lease-' || i, 'bench')).token FROM $all) AS a;"
  echo "CREATE TABLE bench.renewed AS SELECT i, (fencing.acquire('bench', 'renew-' || i, 'bench')).token FROM $all;"
  echo "INSERT INTO bench.hand_lease SELECT 'lease-' || i, 0, 'nobody', '-infinity' FROM $all;"
  echo "INSERT INTO bench.hand_lease SELECT 'renew-' || i, token, 'bench', now() + interval '12 h' FROM bench.renewed;"
}

# lease_setup: once, for the first part that needs it.
lease_setup() {
  [ -z "${FIRST_RENEWED:-}" ] || return 0
  # As PostgreSQL itself chooses. Of more, a client that has just connected would still be meeting
  # new pages all the time.
  restart wal_buffers=16MB
  lease_rows | cluster_psql -o /dev/null
  FIRST_RENEWED=$(first_of bench.renewed "$LEASES")
  pace_script
}

# bench_leases ROUNDS SECONDS RUN: rounds as those of single_row.sh.
bench_leases() {
  local variant
  lease_setup
  for variant in "${LEASE_VARIANTS[@]}"; do
    lease_script "$variant" >"$CLUSTER_DIR/$variant.pgbench"
  done
  in_rounds "$1" "$2" lease_measure "$3" "${LEASE_VARIANTS[@]}"
  # What ran must have done its work.
  expect_all "$LEASES" "key ~ '^lease-' AND state = 'released'"
  expect_all "$LEASES" "key ~ '^renew-' AND state = 'held' AND renewed_at > acquired_at"
}

# expect_all COUNT CONDITION: so many leases are in the state they should be in.
expect_all() {
  [ "$(cluster_psql -At -c "SELECT count(*) FROM fencing.lease WHERE $2")" -eq "$1" ] || die "not $1 leases: $2"
}

# lease_measure VARIANT ROUND RUN
lease_measure() {
  local variant=$1 round=$2 level=on part=lease before after tps
  [ "${variant%_off}" = "$variant" ] || level=off
  [ "${variant#renew}" = "$variant" ] || part=renew
  cluster_psql -c "VACUUM fencing.lease, fencing.fence, fencing.term, bench.hand_lease" -c CHECKPOINT
  before=$(rate_pace)
  tps=$(PGOPTIONS="-c synchronous_commit=$level" rate_pgbench "$variant" -M prepared -c "$LEASE_CLIENTS" -j 2 -T "$3" \
    -D "first_token=$FIRST_RENEWED" | tps)
  after=$(rate_pace)
  note "$part" "$variant" "$round" "$tps" "greatest($before, $after)"
}

# bench_batch ROUNDS RUN: one client renews the same leases one by one, and all in one statement. The
# rate is that of leases.
bench_batch() {
  local n=${#BATCH_VARIANTS[@]} round i variant tokens keys each before after tps
  lease_setup
  tokens=$(cluster_psql -At -c "SELECT array_agg(token ORDER BY token) FROM bench.renewed")
  keys=$(cluster_psql -At -c "SELECT array_agg('renew-' || i ORDER BY token) FROM bench.renewed")
  {
    echo "\\set lease random(0, $((LEASES - 1)))"
    lease_script renew | tail -n 2
  } >"$CLUSTER_DIR/renew_one.pgbench"
  echo "SELECT status, expires_at FROM fencing.renew_all(:tokens);" >"$CLUSTER_DIR/renew_all.pgbench"
  echo "UPDATE bench.hand_lease AS l SET expires_at = clock_timestamp() + interval '12 h'" \
    "FROM unnest(:keys::text[], :tokens::bigint[]) AS t (key, token)" \
    "WHERE l.key = t.key AND l.token = t.token AND l.expires_at > clock_timestamp() RETURNING l.token, l.expires_at;" >"$CLUSTER_DIR/renew_all_by_hand.pgbench"
  for ((round = 0; round <= $1; round++)); do
    for ((i = 0; i < n; i++)); do
      variant=${BATCH_VARIANTS[((round % 2 ? n - 1 - i : i) + round) % n]}
      each=$LEASES
      [ "$variant" != renew_one ] || each=1
      cluster_psql -c "VACUUM fencing.lease, bench.hand_lease" -c CHECKPOINT
      before=$(rate_pace)
      tps=$(rate_pgbench "$variant" -M prepared -c 1 -T "$2" -D "first_token=$FIRST_RENEWED" -D "tokens=$tokens" -D "keys=$keys" | tps)
      after=$(rate_pace)
      note batch "$variant" "$round" "$tps * $each" "greatest($before, $after)"
    done
  done
}

# bench_storm RUN: every client renews any of 10,000 leases one by one; then ten renew a tenth each in
# one statement. What share of the updates stayed on their page (HOT), as PostgreSQL counts them.
bench_storm() {
  local run=$1 first i
  pace_script
  cluster_psql -c "CREATE TABLE bench.storm (token bigint)"
  for ((i = 0; i < STORM_LEASES; i += 1000)); do # a thousand in a transaction: each holds locks
    cluster_psql -o /dev/null -c "INSERT INTO bench.storm SELECT (fencing.acquire('bench', 'storm-' || i, 'bench')).token FROM generate_series($i, $((i + 999))) AS i"
  done
  first=$(first_of bench.storm "$STORM_LEASES")
  echo "\\set token $first + random(0, $((STORM_LEASES - 1)))
SELECT status FROM fencing.renew(:token);" >"$CLUSTER_DIR/storm_one.pgbench"
  echo "SELECT count(*) FROM fencing.renew_all(ARRAY(SELECT $first + $((STORM_LEASES / 10)) * :client_id + i FROM generate_series(0, $((STORM_LEASES / 10 - 1))) AS i));" >"$CLUSTER_DIR/storm_all.pgbench"
  storm one 16 "$run"
  storm all 10 "$run"
  expect_all "$STORM_LEASES" "key ~ '^storm-' AND state = 'held' AND renewed_at > acquired_at"
}

# storm HOW CLIENTS RUN
storm() {
  cluster_psql -o /dev/null -c "SELECT pg_stat_reset_single_table_counters('fencing.lease'::regclass)"
  rate_pgbench "storm_$1" -M prepared -c "$2" -j 2 -T "$3" >/dev/null
  cluster_psql -c "SELECT pg_sleep(1)" -o /dev/null # the clients' last counts arrive
  note storm "$1" 1 "(SELECT 100.0 * n_tup_hot_upd / n_tup_upd FROM pg_stat_user_tables WHERE relid = 'fencing.lease'::regclass)" 1
  note storm "$1_updates" 1 "(SELECT n_tup_upd FROM pg_stat_user_tables WHERE relid = 'fencing.lease'::regclass) / $3" 1
}

# bench_handover RUN: one holder and 50 waiters; whoever has the lease releases it at once, and queues
# again. The lease's own terms say how long it was nobody's.
bench_handover() {
  echo "SELECT token FROM fencing.acquire('bench', 'handover', 'bench', wait => '30 s') \\gset
SELECT fencing.release(:token);" >"$CLUSTER_DIR/handover.pgbench"
  rate_pgbench handover -M prepared -c $((WAITERS + 1)) -j 2 -T "$1" >/dev/null
  cluster_psql -c "INSERT INTO bench.result SELECT 'handover', 'gap', row_number() OVER (), extract(epoch FROM acquired_at - released_at) * 1e3, 1
    FROM (SELECT acquired_at, lag(ended_at) OVER (ORDER BY token) AS released_at FROM fencing.term WHERE key = 'handover') AS t
   WHERE released_at IS NOT NULL"
}

# bench_takeover RUN: leases that nobody releases, each asked for by two clients over and over: what one
# let expire the other has been waiting for. The lease's own terms say how long it was nobody's.
bench_takeover() {
  echo "\\set lease :client_id / 2
SELECT status FROM fencing.acquire('bench', 'takeover-' || :lease, 'bench', ttl => '200 ms', wait => '30 s');" >"$CLUSTER_DIR/takeover.pgbench"
  rate_pgbench takeover -M prepared -c $((2 * TAKEN_OVER)) -j 2 -T "$1" >/dev/null
  cluster_psql -c "INSERT INTO bench.result SELECT 'takeover', 'gap', row_number() OVER (), extract(epoch FROM acquired_at - expired_at) * 1e3, 1
    FROM (SELECT acquired_at, lag(expires_at) OVER (PARTITION BY key ORDER BY token) AS expired_at FROM fencing.term WHERE key ~ '^takeover-') AS t
   WHERE expired_at IS NOT NULL"
}
