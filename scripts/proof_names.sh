#!/usr/bin/env bash
# Whether every test that docs/proof.md names exists, and every counter-measure:  scripts/proof_names.sh
# It names them as `suite/name` and `suite/name without counter_measure`. The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# has SUITE NAME
has() {
  case $1 in
  core) grep -qsE "fn $2\(" core/src/*.rs ;;
  clusters) grep -qsE "fn $2\(" tests/tests/*.rs ;;
  model) grep -qsE "^ *(fn $2\(|$2: )" model/tests/*.rs ;;
  regress) [ -f "pg_regress/sql/$2.sql" ] ;;
  isolation) [ -f "pg_regress/specs/$2.spec" ] ;;
  ways) [ -f "pg_regress/ways/$2.sql" ] ;;
  esac
}

# mutates SUITE NAME MEASURES: of a way, its head says so; any other measure is one of the library's.
mutates() {
  local measure
  if [ "$1" = ways ]; then
    grep -E '^-- without: ' "pg_regress/ways/$2.sql" | grep -qE "[ ,]${3//+/\\+}(,|$)"
    return
  fi
  for measure in ${3//+/ }; do
    grep -qrF "without(\"$measure\")" src || return 1
  done
}

passed=0
failed=0
while read -r suite name _ measures; do
  if has "$suite" "$name" && { [ -z "$measures" ] || mutates "$suite" "$name" "$measures"; }; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "docs/proof.md names what does not exist: $suite/$name${measures:+ without $measures}"
  fi
done < <(grep -oE "\`(core|model|clusters|regress|isolation|ways)/[a-z0-9_-]+( without [a-z_+]+)?\`" docs/proof.md |
  tr -d '`' | tr / ' ' | sort -u)
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
