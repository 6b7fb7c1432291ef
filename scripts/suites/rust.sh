# shellcheck shell=bash
# The suites that cargo runs: core, the rules without a database; model, every state of
# the protocol; clusters, the workspace member tests/ with PostgreSQL clusters of its own.
# Sourced by test.sh.

suite_core() {
  cargo_suite fencing-core core "$1"
}

# Explored one after the other, on two processors each; what was explored is said, and so
# is how each variant that is broken on purpose breaks its promise.
suite_model() {
  local log=$TARGET/test-model.log
  cargo_suite_log fencing-model model "$1" model --nocapture --test-threads 1
  sed -nE 's/^(test [a-z_]+ \.\.\. )?(explored .*)/  \2/p' "$log"
  awk '/explored .* unique states/ { sub(/.*: /, ""); states += $1 }
    END { if (states) printf "  %d unique states in all\n", states }' "$log"
  say "  the variants' paths: $log"
  cargo_tally "$log"
}

suite_clusters() {
  [ -f "$ROOT/tests/Cargo.toml" ] || {
    skip "no tests/ yet"
    return
  }
  need_cluster
  (cluster_for_tests && cargo_suite_log fencing-tests clusters "$1") || true
  cargo_tally "$TARGET/test-clusters.log"
}

# cargo_suite PACKAGE LABEL FILTER
cargo_suite() {
  [ -f "$ROOT/core/Cargo.toml" ] || {
    skip "no core/ yet"
    return
  }
  cargo_suite_log "$@" || true
  cargo_tally "$TARGET/test-$2.log"
}

# cargo_suite_log PACKAGE LABEL FILTER [PROFILE [ARGUMENT ...]]: the arguments are for the tests' programs.
cargo_suite_log() {
  local log=$TARGET/test-$2.log status=0
  STEP_TAIL=0 step "$log" "cargo test -p $1" \
    cargo test --manifest-path "$ROOT/Cargo.toml" --profile "${4:-test}" -p "$1" --no-fail-fast -- "${@:5}" ${3:+"$3"} || status=$?
  echo "exit status $status" >>"$log"
}

# cargo_tally LOG: sums cargo's own result lines. A failure without one (it does
# not compile, a crash) counts too.
cargo_tally() {
  local log=$1 passed failed
  passed=$(sed -nE 's/^test result: .* ([0-9]+) passed; .*/\1/p' "$log" | awk '{n += $1} END {print n + 0}')
  failed=$(sed -nE 's/^test result: .* ([0-9]+) failed; .*/\1/p' "$log" | awk '{n += $1} END {print n + 0}')
  if [ "$failed" -eq 0 ] && [ "$(tail -n 1 "$log")" != 'exit status 0' ]; then
    failed=1
  fi
  if [ "$failed" -gt 0 ]; then
    # What failed and why; from the compiler if it never came to that.
    awk '/^failures:$/ {on = 1} /^test result:/ {on = 0} on' "$log" >"$log.failures"
    [ -s "$log.failures" ] || tail -n 80 "$log" >"$log.failures"
    excerpt "$log.failures"
  fi
  tally "$passed" "$failed"
}
