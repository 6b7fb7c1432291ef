#!/usr/bin/env bash
# Installs the built extension into the PostgreSQL that PG_CONFIG names, below
# DESTDIR if set. VARIANT=test installs the one with the clock for tests.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
# shellcheck source=scripts/postgres.sh
. "$here/postgres.sh"

variant=${VARIANT:-release}
pg_use
"$here/build.sh" "$variant"
cd "$TARGET/package/$variant"
for dir in "${DESTDIR:-}$PG_SHAREDIR/extension" "${DESTDIR:-}$PG_PKGLIBDIR"; do
  mkdir -p "$dir" 2>/dev/null || true
  [ -w "$dir" ] ||
    die "cannot write to $dir: it is built, so only the copy is left: sudo make install PG_CONFIG=$PG_CONFIG"
done
# The package mirrors the server's own paths.
while IFS= read -r file; do
  case $file in *.so) mode=755 ;; *) mode=644 ;; esac
  install -D -m "$mode" "$file" "${DESTDIR:-}/$file"
  say "  ${DESTDIR:-}/$file"
done < <(find . -type f ! -name .built | sed 's#^\./##' | sort)
