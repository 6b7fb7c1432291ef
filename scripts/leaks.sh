#!/usr/bin/env bash
# One server process serves TRANSACTIONS guarded transactions (1000000) of all kinds, with caught errors
# and savepoints among them, and must be no bigger afterwards. Shows how big it was on the way.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

status=0
FENCING_TEST_TRANSACTIONS=${TRANSACTIONS:-1000000} RUST_TEST_NOCAPTURE=1 "$here/test.sh" clusters/a_long_life || status=$?
grep -E '^ *(transactions|[0-9]+) +(RssAnon|[0-9]+)' "$TARGET/test-clusters.log" || true
exit "$status"
