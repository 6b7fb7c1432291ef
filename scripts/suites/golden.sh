# shellcheck shell=bash
# The suites with expected output: regress (SQL) and isolation (sessions against
# each other), by PostgreSQL's own drivers on the private cluster. Sourced by test.sh.

suite_regress() {
  golden_suite sql "$1"
}

suite_isolation() {
  golden_suite specs "$1"
}

# golden_suite KIND FILTER
golden_suite() {
  local kind=$1 filter=$2 driver
  [ -n "$(regress_names "$kind" "$filter")" ] || {
    skip "nothing in pg_regress/$kind yet"
    return
  }
  same_names
  driver=$(regress_driver "$kind")
  [ -x "$driver" ] || die "$driver is missing: install the test drivers of PostgreSQL $PG_MAJOR's server development package"
  need_cluster
  mkdir -p "$CLUSTER_DIR/$kind"
  [ -z "$CLUSTER_USER" ] || chown "$CLUSTER_USER" "$CLUSTER_DIR/$kind"
  as_cluster_user mkdir -p "$CLUSTER_DIR/$kind/out"
  regress_all "$kind" "$CLUSTER_DIR/$kind" "$filter" as_cluster_user "$driver" \
    --bindir="$CLUSTER_BIN" --host="$CLUSTER_SOCKET" --port=5432 --user=postgres
  tally "$REGRESS_PASSED" "$REGRESS_FAILED"
}

# Both kinds share pg_regress/expected, so a name belongs to one of them.
same_names() {
  local twice
  twice=$( (regress_names sql '' && regress_names specs '') | sort | uniq -d | tr '\n' ' ')
  [ -z "$twice" ] || die "both pg_regress/sql and pg_regress/specs have: $twice(rename one: they share expected/)"
}
