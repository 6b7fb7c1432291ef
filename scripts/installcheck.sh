#!/usr/bin/env bash
# Golden tests against a running server (PGHOST, PGPORT, PGUSER ...) that has the
# extension installed. Tests that shift the coordinator's clock need the variant of
# `make install VARIANT=test` and are skipped on another. Uses databases of its own,
# fencing_regress_*, and drops them.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
for part in lib postgres regress ways; do
  # shellcheck source=/dev/null
  . "$here/$part.sh"
done
pg_use
PATH=$PG_BINDIR:$PATH
installed=$(psql -X -At -d postgres -c "SELECT count(*) FROM pg_available_extensions WHERE name = 'fencing'") ||
  die "no server answers: set PGHOST, PGPORT and PGUSER to a superuser's connection"
[ "$installed" = 1 ] || die "that server does not have the extension: run make install PG_CONFIG=its pg_config"

psql -X -q -d postgres -c "LOAD 'fencing'" -c "SHOW fencing.test_clock_offset" >/dev/null 2>&1 ||
  export REGRESS_LACKS=test_clock

work=$(mktemp -d)
cleanup() {
  local name
  for name in $(regress_names sql ''); do
    psql -X -q -d postgres -c "SET client_min_messages = warning" -c "DROP DATABASE IF EXISTS \"fencing_regress_$name\"" || true
  done
  ways_clean
  rm -rf "$work"
}
trap cleanup EXIT
regress_all sql "$work" '' "$(regress_driver sql)" --bindir="$PG_BINDIR"
rm -rf "$WAYS_OUT"
ways_prepare
ways_each way_check ''
passed=$(find "$WAYS_OUT" -name '*.out' | wc -l)
failed=$(find "$WAYS_OUT" -name '*.diff' | wc -l)
[ "$failed" -eq 0 ] || ways_differences
passed=$((REGRESS_PASSED + passed - failed))
failed=$((REGRESS_FAILED + failed))
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
