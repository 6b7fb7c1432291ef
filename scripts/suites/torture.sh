# shellcheck shell=bash
# The torture's short form, its checker's own tests, and runs with counter-measures
# switched off, which must be noticed. Sourced by test.sh.

suite_torture() {
  local log=$TARGET/test-torture.log status=0
  need_cluster
  as_cluster_user mkdir -p "$CLUSTER_DIR/torture"
  export FENCING_TEST_BINDIR=$CLUSTER_BIN FENCING_TEST_USER=$CLUSTER_USER FENCING_TEST_TMPDIR=$CLUSTER_DIR/torture
  export TORTURE_DIR=$TARGET/torture-history
  # Its clients make their own connections, and have the machine to themselves.
  (unset PGHOST PGPORT PGUSER PGDATABASE &&
    STEP_TAIL=0 step "$log" "cargo test -p fencing-torture" \
      cargo test --manifest-path "$ROOT/Cargo.toml" --profile load -p fencing-torture --no-fail-fast -- \
      --test-threads=1 ${1:+"$1"}) || status=$?
  echo "exit status $status" >>"$log"
  # What the same clients do to a lease table without a fence, beside it.
  sed -n '/stale writes/,/^$/p' "$log"
  cargo_tally "$log"
}
