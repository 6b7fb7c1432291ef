# shellcheck shell=bash
# Runs golden tests by PostgreSQL's own drivers. Sourced by test.sh and
# installcheck.sh, never run.
#
# pg_regress/sql/NAME.sql and pg_regress/specs/NAME.spec each have
# pg_regress/expected/NAME.out. Each runs alone in a fresh database, which has the
# extension unless the file itself says CREATE EXTENSION fencing. One that says
# `-- since: MAJOR` is skipped by earlier PostgreSQLs.

REGRESS_OUT=$TARGET/regress

# regress_names KIND FILTER: the tests of KIND (sql or specs), one a line.
regress_names() {
  local file name
  for file in "$ROOT/pg_regress/$1"/*."${1%s}"; do # sql/*.sql, specs/*.spec
    [ -f "$file" ] || continue
    name=$(basename "$file" ".${1%s}")
    [ -n "$2" ] && [ "$name" != "$2" ] || echo "$name"
  done
}

# regress_driver KIND: the program that runs such tests.
regress_driver() {
  case $1 in
  sql) echo "$PG_TESTDIR/regress/pg_regress" ;;
  specs) echo "$PG_TESTDIR/isolation/pg_isolation_regress" ;;
  esac
}

# regress_input KIND DIR: the drivers read and write below DIR, as another user
# perhaps, so they get copies.
regress_input() {
  local kind=$1 dir=$2 name
  mkdir -p "$dir/expected" "$dir/out"
  cp -r "$ROOT/pg_regress/$kind" "$dir/$kind"
  [ ! -d "$ROOT/pg_regress/expected" ] || cp -r "$ROOT/pg_regress/expected/." "$dir/expected"
  # A new test has no expected output: then all of it is a difference to look at.
  for name in $(regress_names "$kind" ''); do
    [ -f "$dir/expected/$name.out" ] || : >"$dir/expected/$name.out"
  done
  chmod -R a+rX "$dir"
}

# regress_one KIND DIR NAME COMMAND...: COMMAND is the driver with what it needs
# to connect. Leaves the output in REGRESS_OUT, and DIR/diffs longer if it differs.
regress_one() {
  local kind=$1 dir=$2 name=$3 out=$2/out/$3 status=0 load=(--load-extension=fencing) source
  shift 3
  source=$dir/$kind/$name.${kind%s}
  ! grep -qiE '^[^-#]*create +extension +(if +not +exists +)?fencing' "$source" || load=()
  "$@" --inputdir="$dir" --outputdir="$out" --dbname="fencing_regress_$name" "${load[@]}" "$name" \
    >"$dir/out/$name.log" 2>&1 </dev/null || status=$?
  mkdir -p "$REGRESS_OUT/results"
  [ ! -f "$out/results/$name.out" ] || cp "$out/results/$name.out" "$REGRESS_OUT/results/"
  if [ "$status" -ne 0 ]; then
    # Without a difference the driver itself has failed, and says why.
    if [ -s "$out/regression.diffs" ]; then cat "$out/regression.diffs"; else cat "$dir/out/$name.log"; fi >>"$dir/diffs"
  fi
  return "$status"
}

# regress_all KIND DIR FILTER COMMAND...: runs and reports them all; leaves
# REGRESS_PASSED and REGRESS_FAILED. Files that mention REGRESS_LACKS are skipped.
regress_all() {
  local kind=$1 dir=$2 filter=$3 name start
  shift 3
  REGRESS_PASSED=0
  REGRESS_FAILED=0
  regress_input "$kind" "$dir"
  for name in $(regress_names "$kind" "$filter"); do
    start=$SECONDS
    if needs_newer "$dir/$kind/$name.${kind%s}"; then
      printf '  %-46s skipped: it needs a later PostgreSQL\n' "$name"
    elif [ -n "${REGRESS_LACKS:-}" ] && grep -q "$REGRESS_LACKS" "$dir/$kind/$name.${kind%s}"; then
      printf '  %-46s skipped: the server lacks %s\n' "$name" "$REGRESS_LACKS"
    elif regress_one "$kind" "$dir" "$name" "$@"; then
      REGRESS_PASSED=$((REGRESS_PASSED + 1))
      printf '  %-46s %4d s\n' "$name" $((SECONDS - start))
    else
      REGRESS_FAILED=$((REGRESS_FAILED + 1))
      printf '  %-46s %4d s  FAILED\n' "$name" $((SECONDS - start))
    fi
  done
  [ "$REGRESS_FAILED" -gt 0 ] || return 0
  # Paths of the copies mean nothing to the reader.
  sed "s#$dir/#pg_regress/#g" "$dir/diffs" >"$REGRESS_OUT/$kind.diffs"
  head -n 80 "$REGRESS_OUT/$kind.diffs"
  say "all differences: $REGRESS_OUT/$kind.diffs; if the new output is right: cp $REGRESS_OUT/results/NAME.out pg_regress/expected/"
}
