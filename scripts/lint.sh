#!/usr/bin/env bash
# Formatting, clippy without warnings, and the shell scripts where shellcheck is installed.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
# shellcheck source=scripts/postgres.sh
. "$here/postgres.sh"

for tool in fmt clippy; do
  cargo "$tool" --version >/dev/null 2>&1 || die "cargo $tool is missing: rustup component add ${tool/#fmt/rustfmt}"
done
"$here/setup.sh"
pg_use
cd "$ROOT"
# All of them, so that one look shows everything there is to mend.
status=0
step "$TARGET/lint-fmt.log" "cargo fmt" cargo fmt --all --check -- --color never || status=1
step "$TARGET/lint-clippy.log" "cargo clippy" \
  cargo clippy --workspace --all-targets --no-default-features --features "pg$PG_MAJOR test_clock mutants" --color never -- -D warnings || status=1
if command -v shellcheck >/dev/null; then
  step "$TARGET/lint-shellcheck.log" "shellcheck" shellcheck -x scripts/*.sh scripts/suites/*.sh bench/*.sh examples/*/*.sh .ci/run || status=1
fi
exit "$status"
