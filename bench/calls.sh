# shellcheck shell=bash
# What one call takes, from the client's side and durably: acquire, renew and
# release against the same on a hand-written lease table. Sourced by run.sh.

# A script a side; the statements' order is that of CALLS.
CALLS=(acquire renew release)

calls_fencing() {
  cat <<'END'
SELECT token FROM fencing.acquire('bench', 'calls', 'bench') \gset
SELECT status FROM fencing.renew(:token);
SELECT status FROM fencing.release(:token);
END
}

calls_by_hand() {
  cat <<'END'
UPDATE bench.hand_lease SET token = nextval('bench.hand_token'), holder = 'bench', expires_at = clock_timestamp() + interval '12 h' WHERE key = 'calls' AND expires_at <= clock_timestamp() RETURNING token \gset
UPDATE bench.hand_lease SET expires_at = clock_timestamp() + interval '12 h' WHERE key = 'calls' AND token = :token AND expires_at > clock_timestamp();
UPDATE bench.hand_lease SET expires_at = '-infinity' WHERE key = 'calls' AND token = :token;
END
}

# bench_calls ROUNDS SECONDS
bench_calls() {
  local rounds=$1 seconds=$2 round side sides
  for side in fencing by_hand; do
    "calls_$side" >"$CLUSTER_DIR/$side.pgbench"
  done
  for ((round = 0; round <= rounds; round++)); do
    sides=(fencing by_hand)
    [ $((round % 2)) -eq 0 ] || sides=(by_hand fencing)
    for side in "${sides[@]}"; do
      call_results "$side" "$seconds" "$round" "$side" "${CALLS[@]}" | cluster_psql
    done
  done
}

# call_results SIDE SECONDS ROUND SCRIPT CALL...: runs the script, whose statements are those calls, and
# prints what records the results. pgbench -r says how long each statement took, in milliseconds.
call_results() {
  local side=$1 seconds=$2 round=$3 script=$4 out times i
  shift 4
  local calls=("$@")
  out=$(rate_pgbench "$script" -r -M prepared -c 1 -T "$seconds")
  mapfile -t times < <(awk '$3 ~ /^(SELECT|UPDATE)$/ { print $1 * 1000 }' <<<"$out")
  [ ${#times[@]} -eq ${#calls[@]} ] || die "pgbench reported something else ($side): $out"
  [ "$round" -gt 0 ] || return 0
  for i in "${!calls[@]}"; do
    echo "INSERT INTO bench.call VALUES ('$side', '${calls[i]}', $round, ${times[i]});"
  done
}
