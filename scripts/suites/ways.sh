# shellcheck shell=bash
# ways: every way round a guard, tried; and mutations: the same with the guard's
# counter-measures taken away one by one, which each test must notice; and so must the
# golden tests that docs/proof.md names (mutations/goldens). Sourced by test.sh.

suite_ways() {
  local passed failed
  ways_suite way_check "$1" ways
  failed=$(find "$WAYS_OUT" -name '*.diff' | wc -l)
  passed=$(($(ways_here "$1" | wc -l) - failed))
  # The documentation's table is a test like the others: of all of them.
  if [ -z "$1" ]; then
    if "$ROOT/scripts/ways_table.sh" --check >"$WAYS_OUT/table.diff" 2>&1; then
      passed=$((passed + 1))
      rm "$WAYS_OUT/table.diff"
    else
      failed=$((failed + 1))
      say "docs/ways.md is not what the tests say: run scripts/ways_table.sh"
    fi
  fi
  [ "$failed" -eq 0 ] || ways_differences
  tally "$passed" "$failed"
}

suite_mutations() {
  local caught survived
  if [ -z "$1" ] || [ "$1" = goldens ]; then
    golden_mutations
    say "  $GOLDEN_CAUGHT golden tests fail without what they test, $GOLDEN_SURVIVED don't"
    tally "$GOLDEN_CAUGHT" "$GOLDEN_SURVIVED"
    [ -z "$1" ] || return 0
  fi
  ways_suite way_mutate "$1" mutants
  cat "$WAYS_OUT"/*.mutants >"$WAYS_OUT/mutants"
  caught=$(grep -c '^caught ' "$WAYS_OUT/mutants") || true
  survived=$(grep -c '^SURVIVED ' "$WAYS_OUT/mutants") || true
  grep '^SURVIVED ' "$WAYS_OUT/mutants" || true
  say "  $caught mutants caught, $survived survived"
  tally "$caught" "$survived"
}

# ways_suite FUNCTION FILTER LABEL: FUNCTION for each way, on the private cluster.
ways_suite() {
  [ -n "$(ways_names "$2")" ] || die "no way $2 in pg_regress/ways"
  need_cluster
  rm -rf "$WAYS_OUT"
  ways_prepare
  step "$WAYS_OUT/$3.log" "$3 ($(ways_here "$2" | wc -l) files)" ways_each "$1" "$2"
}
