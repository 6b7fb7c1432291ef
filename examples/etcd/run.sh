#!/usr/bin/env bash
# Two workers write one table under a lock of etcd's. One is paused past its lease, the other takes over
# and writes; the first one wakes up, and the table refuses it. On a private PostgreSQL and a private
# etcd, both gone afterwards. Fails unless that is what happened. VARIANT: which build to use (release).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for part in lib postgres cluster; do
  # shellcheck source=/dev/null
  . "$here/../../scripts/$part.sh"
done

{
  "$ROOT/scripts/setup.sh" etcd
  "$ROOT/scripts/build.sh" "${VARIANT:-release}"
} >&2
pg_use
PROCESSES=()
end() {
  kill -CONT "${PROCESSES[@]}" 2>/dev/null || true
  kill "${PROCESSES[@]}" 2>/dev/null || true
  wait
  cluster_remove
}
trap end EXIT
cluster_create "$TARGET/package/${VARIANT:-release}"
cluster_start

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# await WHAT COMMAND...: until COMMAND succeeds.
await() {
  local what=$1 tries
  shift
  for ((tries = 0; tries < 200; tries++)); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.05
  done
  die "it does not happen: $what"
}

start_etcd() {
  local peer
  ETCD=http://127.0.0.1:$(free_port)
  peer=http://127.0.0.1:$(free_port)
  # The shortest lease that etcd grants is half as long again as its election timeout.
  etcd --data-dir "$CLUSTER_DIR/etcd" --listen-client-urls "$ETCD" --advertise-client-urls "$ETCD" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" \
    --heartbeat-interval 50 --election-timeout 500 >"$CLUSTER_DIR/etcd.log" 2>&1 &
  PROCESSES+=($!)
  export ETCD
  await "etcd answers" ask maintenance/status
}

ask() {
  python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1] + "/v3/" + sys.argv[2], b"{}").read().decode())' \
    "$ETCD" "$1"
}

sealed() {
  [ "$(cluster_psql -At -c 'SELECT count(*) FROM fencing.remote_fence')" -gt 0 ]
}

# worker NAME SECONDS: one in the background, with its output in a file of its name.
worker() {
  PATH=$CLUSTER_BIN:$PATH PGUSER=worker python3 "$here/worker.py" "$@" >"$CLUSTER_DIR/$1" 2>&1 &
  PROCESSES+=($!)
}

start_etcd
cluster=$(ask maintenance/status | sed -E 's/.*"cluster_id":"([0-9]+)".*/\1/')
cluster_psql -o /dev/null -v cluster="$cluster" -f "$here/setup.sql"
export EPOCH=1

worker A 1
a=$!
await "A gets the lock" grep 'has the lock' "$CLUSTER_DIR/A"
await "A has sealed" sealed
kill -STOP $a
cat "$CLUSTER_DIR/A"
say "A is paused (SIGSTOP); its lease of 2 s runs out"

worker B 0
wait $! || die "B failed: $(cat "$CLUSTER_DIR/B")"
cat "$CLUSTER_DIR/B"

say "A goes on (SIGCONT), and writes"
status=0
kill -CONT $a
wait $a || status=$?
sed 1d "$CLUSTER_DIR/A"
row=$(cluster_psql -At -c "SELECT body, fencing.seq_of(written_under) FROM report")
say "The row that stands: $row"
if [ $status -ne 3 ] || ! grep -q LF001 "$CLUSTER_DIR/A"; then
  die "the example failed: A was not refused with LF001"
fi
[[ $row == "by B|"* ]] || die "the example failed: B's row does not stand"
