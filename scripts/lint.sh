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
step "$TARGET/lint-fmt.log" "cargo fmt" cargo fmt --all --check
step "$TARGET/lint-clippy.log" "cargo clippy" \
  cargo clippy --workspace --all-targets --features "test_clock" -- -D warnings
if command -v shellcheck >/dev/null; then
  step "$TARGET/lint-shellcheck.log" "shellcheck" shellcheck -x scripts/*.sh scripts/suites/*.sh .ci/run
fi
