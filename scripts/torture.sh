#!/usr/bin/env bash
# Torture: clients that are stopped and killed, on a server that crashes, and a
# checker of what they saw. docs/torture.md says what it does.
#   OPERATIONS=10000000  at least so many       SEED=n      the same choices again
#   DURATION=seconds     no longer              COMPARE=n   operations without a fence (0: none)
#   CRASH_EVERY=n        operations from one crash to the next (40000)
#   WITHOUT=name         a counter-measure switched off, to see that it is noticed
# Fails if anything is wrong, and keeps that round's history.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
for part in lib postgres cluster; do
  # shellcheck source=/dev/null
  . "$here/$part.sh"
done

# Only a test build has counter-measures that can be switched off.
variant=${VARIANT:-${WITHOUT:+test}}
variant=${variant:-release}
"$here/setup.sh"
# dev: as somebody has built it.
[ "$variant" = dev ] || "$here/build.sh" "$variant"
step "$TARGET/build-torture.log" "building the torture" \
  cargo build --manifest-path "$ROOT/Cargo.toml" --profile load -p fencing-torture
pg_use
cluster_create "$TARGET/package/$variant"
export TORTURE_DIR=${TORTURE_DIR:-$TARGET/torture-history}
cluster_for_tests
"$TARGET/load/fencing-torture"
