# shellcheck shell=bash
# Suites of one result each, not part of `make test`: lint and the demo, which
# CI runs as well. Sourced by test.sh.

suite_lint() {
  whole lint.sh
}

suite_demo() {
  whole demo.sh
}

# whole SCRIPT: passed if it succeeds.
whole() {
  if "$ROOT/scripts/$1" </dev/null; then tally 1 0; else tally 0 1; fi
}
