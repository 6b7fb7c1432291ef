# shellcheck shell=bash
# The suites with expected output: regress (SQL) and isolation (sessions against
# each other), by PostgreSQL's own drivers on the private cluster. Sourced by test.sh.

# The SQL files run in three time zones each, with one expected output: in the server's, a
# role's, and a session's own.
suite_regress() {
  golden_suite sql "$1" env -u PGTZ
  [ "$REGRESS_FAILED" -eq 0 ] || return 0
  cluster_psql -c "ALTER ROLE postgres SET timezone = 'America/New_York'"
  golden_again America/New_York "$1" env -u PGTZ
  cluster_psql -c "ALTER ROLE postgres RESET timezone"
  golden_again Pacific/Kiritimati "$1" env PGTZ=Pacific/Kiritimati
}

suite_isolation() {
  golden_suite specs "$1" env PGTZ=Pacific/Kiritimati
}

# golden_suite KIND FILTER LAUNCHER...
golden_suite() {
  local kind=$1 filter=$2
  shift 2
  [ -n "$(regress_names "$kind" "$filter")" ] || {
    REGRESS_FAILED=0
    skip "nothing in pg_regress/$kind yet"
    return
  }
  same_names
  need_cluster
  golden_run "$kind" "$CLUSTER_DIR/$kind" "$filter" "$@"
  tally "$REGRESS_PASSED" "$REGRESS_FAILED"
}

# golden_again ZONE FILTER LAUNCHER...: the SQL files once more, by a psql that LAUNCHER brings into ZONE.
golden_again() {
  local zone=$1 filter=$2 log=$REGRESS_OUT/${1##*/}.log
  shift 2
  step "$log" "the same in $zone" golden_run sql "$CLUSTER_DIR/sql.${zone##*/}" "$filter" "$@"
  [ "$REGRESS_FAILED" -eq 0 ] || excerpt "$log"
  tally "$REGRESS_PASSED" "$REGRESS_FAILED"
}

# golden_run KIND DIR FILTER LAUNCHER...: the drivers set a time zone of their own, unless the
# launcher of their psql takes it away.
golden_run() {
  local kind=$1 dir=$2 filter=$3 driver
  shift 3
  driver=$(regress_driver "$kind")
  [ -x "$driver" ] || die "$driver is missing: install the test drivers of PostgreSQL $PG_MAJOR's server development package"
  mkdir -p "$dir"
  [ -z "$CLUSTER_USER" ] || chown "$CLUSTER_USER" "$dir"
  as_cluster_user mkdir -p "$dir/out"
  regress_all "$kind" "$dir" "$filter" as_cluster_user "$driver" --launcher="$*" \
    --bindir="$CLUSTER_BIN" --host="$CLUSTER_SOCKET" --port=5432 --user=postgres
}

# Both kinds share pg_regress/expected, so a name belongs to one of them.
same_names() {
  local twice
  twice=$( (regress_names sql '' && regress_names specs '') | sort | uniq -d | tr '\n' ' ')
  [ -z "$twice" ] || die "both pg_regress/sql and pg_regress/specs have: $twice(rename one: they share expected/)"
}

# golden_mutations: each golden test that docs/proof.md names with a counter-measure, without it: it must fail.
# Leaves how many did, and did not, in GOLDEN_CAUGHT and GOLDEN_SURVIVED.
golden_mutations() {
  local tests suite name measure kind one
  GOLDEN_CAUGHT=0
  GOLDEN_SURVIVED=0
  need_cluster
  mapfile -t tests < <(grep -oE "\`(regress|isolation)/[a-z0-9_-]+ without [a-z_+]+\`" "$ROOT/docs/proof.md" | tr -d '`' | sort -u)
  for one in "${tests[@]}"; do
    read -r name _ measure <<<"$one"
    suite=${name%%/*}
    kind=sql
    [ "$suite" = regress ] || kind=specs
    cluster_psql -c "ALTER ROLE postgres SET fencing.test_without = '$measure'"
    step "$TARGET/test-without-$measure.log" "$one" golden_run "$kind" "$CLUSTER_DIR/without.$measure" "${name#*/}" env -u PGTZ
    cluster_psql -c 'ALTER ROLE postgres RESET fencing.test_without'
    if [ "$REGRESS_FAILED" -gt 0 ]; then
      GOLDEN_CAUGHT=$((GOLDEN_CAUGHT + 1))
    else
      GOLDEN_SURVIVED=$((GOLDEN_SURVIVED + 1))
      say "SURVIVED $one"
    fi
  done
}
