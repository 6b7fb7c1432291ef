# shellcheck shell=bash
# The torture's short form, its checker's own tests, and runs with counter-measures
# switched off, which must be noticed. Sourced by test.sh.

suite_torture() {
  local log=$TARGET/test-torture.log
  need_cluster
  export TORTURE_DIR=$TARGET/torture-history
  # Its clients have the machine to themselves.
  (cluster_for_tests && cargo_suite_log fencing-torture torture "$1" load --test-threads=1) || true
  # What the same clients do to a lease table without a fence, beside it.
  sed -n '/stale writes/,/^$/p' "$log"
  cargo_tally "$log"
}
