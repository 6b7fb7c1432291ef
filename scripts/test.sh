#!/usr/bin/env bash
# All tests, or the named suites:  scripts/test.sh [SUITE[/NAME] ...]
# NAME narrows a suite to one file (regress/acquire) or test (clusters/restore).
# WITHOUT=COUNTER_MEASURE runs them without it (src/pg/mutant.rs), to see what fails.
# The last line is `N passed, N failed`.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
for part in lib postgres cluster regress ways suites/rust suites/golden suites/ways suites/docs suites/examples suites/torture suites/other; do
  # shellcheck source=/dev/null
  . "$here/$part.sh"
done

SUITES=(core model clusters regress isolation ways mutations docs examples torture)
PASSED=0
FAILED=0

# tally PASSED FAILED: a suite's result, added to the sum.
tally() {
  printf '  %-46s %d passed, %d failed\n' "$SUITE" "$1" "$2"
  PASSED=$((PASSED + $1))
  FAILED=$((FAILED + $2))
}

skip() {
  printf '  %-46s skipped: %s\n' "$SUITE" "$1"
}

# excerpt FILE: as much of a failure as a person reads.
excerpt() {
  head -n 80 "$1"
  [ "$(wc -l <"$1")" -le 80 ] || say "... the rest is in $1"
}

# need_package / need_cluster: made by the first suite that needs them.
need_package() {
  "$here/build.sh" test
}

need_cluster() {
  [ -z "$CLUSTER_DIR" ] || return 0
  need_package
  # Nobody commits but the tests: what they show may depend on it.
  cluster_create "$TARGET/package/test" fsync=off autovacuum=off timezone=UTC ${WITHOUT:+"fencing.test_without=$WITHOUT"}
  cluster_start
}

# finish: the last line comes out whatever happened; a suite that could not be
# run to its end is a failure.
finish() {
  [ -z "${SUITE:-}" ] || FAILED=$((FAILED + 1))
  cluster_remove
  say "$PASSED passed, $FAILED failed"
  [ "$FAILED" -eq 0 ] || exit 1
}

trap finish EXIT
[ $# -gt 0 ] || set -- "${SUITES[@]}"
SUITE=setup
"$here/setup.sh"
pg_use
for SUITE in "$@"; do
  name=${SUITE%%/*}
  declare -F "suite_$name" >/dev/null || die "no suite $name: there are ${SUITES[*]} lint demo"
  say "== $SUITE"
  filter=
  [ "$name" = "$SUITE" ] || filter=${SUITE#*/}
  "suite_$name" "$filter"
done
SUITE=
