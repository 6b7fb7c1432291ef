# shellcheck shell=bash
# Acquire and release, and renew, against what else grants leases: etcd and Redis, each on its own, and
# the hand-written lease table. All run as this cluster's user in its directory, answer on a unix
# socket and write to the same disk before they answer; one client program serves them all
# (src/main.rs). Sourced by run.sh.

PEERS_CLIENTS=16
PEERS_LEASES=1000
# Neighbours in a round are compared best: the baseline stands beside the extension.
PEERS=(etcd_session etcd fencing by_hand redis)
PEER_JOBS=()

# peers_server NAME COMMAND...: in the background, to be ended by peers_stop.
peers_server() {
  local name=$1
  shift
  # shellcheck disable=SC2016 # for that shell to expand
  as_cluster_user sh -c 'echo $$ >"$0.pid"; exec "$@" >"$0.log" 2>&1' "$name" "$@" &
  PEER_JOBS+=($!)
}

peers_start() {
  # Both begin empty. What etcd answers has been written and flushed; appendfsync does it for Redis.
  peers_server etcd etcd --data-dir etcd.data --listen-client-urls unix://etcd:1 --advertise-client-urls unix://etcd:1 \
    --listen-peer-urls unix://etcd-peer:1 --initial-advertise-peer-urls unix://etcd-peer:1 --initial-cluster default=unix://etcd-peer:1
  peers_server redis redis-server --port 0 --unixsocket "$CLUSTER_DIR/redis" --dir "$CLUSTER_DIR" --save '' \
    --appendonly yes --appendfsync always --auto-aof-rewrite-percentage 0
  peers_socket etcd="$CLUSTER_DIR/etcd:1" etcd_session="$CLUSTER_DIR/etcd:1" redis="$CLUSTER_DIR/redis" \
    fencing="$CLUSTER_SOCKET/.s.PGSQL.$PGPORT" by_hand="$CLUSTER_SOCKET/.s.PGSQL.$PGPORT"
}

# peers_socket NAME=SOCKET ...: remembered in PEER_SOCKET, once all are there.
peers_socket() {
  local pair tries=0
  declare -gA PEER_SOCKET
  for pair in "$@"; do
    PEER_SOCKET[${pair%%=*}]=${pair#*=}
    until [ -S "${pair#*=}" ]; do
      [ $((tries += 1)) -le 200 ] || die "${pair%%=*} does not start: $(tail -n 3 "$CLUSTER_DIR/${pair%%=*}.log")"
      sleep 0.05
    done
  done
}

# peers_stop: also at exit.
peers_stop() {
  local name
  [ ${#PEER_JOBS[@]} -gt 0 ] || return 0
  for name in etcd redis; do
    kill "$(cat "$CLUSTER_DIR/$name.pid")" 2>/dev/null || true
  done
  wait "${PEER_JOBS[@]}" || true
  PEER_JOBS=()
}

# bench_peers ROUNDS SECONDS RUN: rounds as those of single_row.sh.
bench_peers() {
  # As for leases.
  restart wal_buffers=16MB
  peers_start
  pace_script
  in_rounds "$1" "$2" peers_measure "$3" "${PEERS[@]}"
  peers_stop
}

# peers_measure PEER ROUND RUN
peers_measure() {
  local peer=$1 round=$2 work before after rate
  for work in acquire renew; do
    # A session's renewal is that of all its leases: nothing to compare one with.
    [ "$peer $work" != "etcd_session renew" ] || continue
    cluster_psql -c "VACUUM fencing.lease, fencing.fence, fencing.term, bench.hand_lease" -c CHECKPOINT
    before=$(rate_pace)
    rate=$("$TARGET/load/fencing-bench" load "$peer" "${PEER_SOCKET[$peer]}" "$work" "$PEERS_CLIENTS" "$PEERS_LEASES" "$3") ||
      die "no result of $peer: $(tail -n 3 "$CLUSTER_DIR/$peer.log" 2>/dev/null)"
    after=$(rate_pace)
    note "peers_$work" "$peer" "$round" "$rate" "greatest($before, $after)"
  done
}
