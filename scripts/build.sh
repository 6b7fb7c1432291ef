#!/usr/bin/env bash
# Builds the extension and lays it out as it will be installed:
#   scripts/build.sh [VARIANT] [--features "F ..."]
# into target/package/VARIANT (`release`, or `test` with the clock that tests
# may shift and the counter-measures that they may switch off; any other name is yours, for features of your choice). Does nothing
# when no source is newer than the last build.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
# shellcheck source=scripts/postgres.sh
. "$here/postgres.sh"

variant=release
features=
while [ $# -gt 0 ]; do
  case $1 in
  --features)
    features=${2?--features needs a value}
    shift
    ;;
  -*) die "usage: scripts/build.sh [VARIANT] [--features \"F ...\"]" ;;
  *) variant=$1 ;;
  esac
  shift
done
[ "$variant" != test ] || features="test_clock mutants${features:+ $features}"

package=$TARGET/package/$variant
stamp=$package/.built
pg_use
made_for="$PG_CONFIG, $PG_VERSION, features: $features"

# Directories count too: a deleted file shows in its directory's time.
up_to_date() {
  local sources=()
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$made_for" ] || return
  for source in Cargo.toml Cargo.lock fencing.control src core sql .cargo; do
    [ ! -e "$ROOT/$source" ] || sources+=("$ROOT/$source")
  done
  [ -z "$(find "${sources[@]}" -newer "$stamp" -print -quit)" ]
}

# Packaged beside the old one and swapped in whole: a package is never half new.
build() {
  local new=$package.new
  rm -rf "$new" && mkdir -p "$new" || return
  echo "$made_for" >"$new/.built" # as old as the build's start, so later edits are newer
  cd "$ROOT" || return
  cargo pgrx package --pg-config "$PG_CONFIG" --out-dir "$new" ${features:+--features "$features"} || return
  # What tests may shift and switch off is nothing that users have.
  if [ "$variant" = release ] && grep -raoh 'fencing\.test_[a-z_]*' "$new"; then
    say "a release build must have none of these settings" && return 1
  fi
  rm -rf "$package" && mv "$new" "$package"
}

up_to_date && exit
"$here/setup.sh"
writable_dir "$TARGET/package"
# One at a time: two builds of a variant would pull the package from under each other.
if command -v flock >/dev/null; then
  exec 9>"$TARGET/package/.lock"
  flock 9
  up_to_date && exit
fi
step "$TARGET/build-$variant.log" "building fencing ($variant, PostgreSQL $PG_MAJOR)" build ||
  die "the build failed: see $TARGET/build-$variant.log"
