# shellcheck shell=bash
# The ways round a guard: pg_regress/ways/NAME.sql, each in a copy of a database that
# has the extension and the helpers, against pg_regress/expected/ways/NAME.out.
# Sourced after lib.sh and postgres.sh, never run.
#
# A way's first lines say what it is (ways_table.sh makes the table of docs/ways.md
# of them):
#   -- way: what somebody does
#   -- PostgreSQL: what it does with that by itself
#   -- fencing: what the guard makes of it
#   -- area: where in the table it belongs
#   -- since: the first PostgreSQL that has it, where that is later than the oldest one
#   -- without: the counter-measures, `A, B`, each of which the way passes without
#      (`A+B` for two that are each enough: it passes without both)
# Its output says `stale: SQLSTATE` (00000 where the write passed) of the stale
# holder's attempts, `rightful: ...` of the rightful one's, and `listed: ...` (or
# `listed: nothing`) of what enforcement_gaps() says.

WAYS=$ROOT/pg_regress/ways
WAYS_EXPECTED=$ROOT/pg_regress/expected/ways
WAYS_OUT=$TARGET/ways
WAYS_DATABASE=fencing_ways

# ways_names FILTER: the ways, one a line.
ways_names() {
  local file name
  for file in "$WAYS"/*.sql; do
    name=$(basename "$file" .sql)
    [ -n "$1" ] && [ "$name" != "$1" ] || echo "$name"
  done
}

# ways_here FILTER: those that this PostgreSQL has.
ways_here() {
  local name
  for name in $(ways_names "$1"); do
    needs_newer "$WAYS/$name.sql" || echo "$name"
  done
}

# way_header NAME FIELD
way_header() {
  sed -nE "s/^-- $2: +//p" "$WAYS/$1.sql"
}

# way_psql DATABASE [WITHOUT]: runs stdin, with the settings that the outputs were made with.
way_psql() {
  local options="-c lc_messages=C -c client_min_messages=warning${2:+ -c fencing.test_without=$2}"
  PGOPTIONS=$options "$PG_BINDIR/psql" -X -q -a -A -t -P null=NULL -v VERBOSITY=terse -v SHOW_CONTEXT=never -d "$1" 2>&1
}

# ways_prepare / ways_clean: the database that the ways' own are copies of.
ways_prepare() {
  ways_clean
  mkdir -p "$WAYS_OUT"
  way_psql postgres <<<"CREATE DATABASE $WAYS_DATABASE TEMPLATE template0" >/dev/null
  { echo 'CREATE EXTENSION fencing;' && cat "$ROOT/pg_regress/sql/include/helpers.sql" "$WAYS/include/setup.sql"; } |
    way_psql "$WAYS_DATABASE" >"$WAYS_OUT/setup.log"
  ! grep '^ERROR' "$WAYS_OUT/setup.log" || die "the ways' helpers could not be loaded"
}

ways_clean() {
  way_psql postgres <<<"DROP DATABASE IF EXISTS $WAYS_DATABASE" >/dev/null
}

# way_run NAME OUT [WITHOUT]
way_run() {
  local database=fencing_way_$1
  way_psql postgres <<<"DROP DATABASE IF EXISTS $database; CREATE DATABASE $database TEMPLATE $WAYS_DATABASE" >"$2"
  # What is written in SQL is not for the library to leave out.
  [ ! -f "$WAYS/without/${3:-}.sql" ] || way_psql "$database" <"$WAYS/without/$3.sql" >"$2"
  grep -vE '^-- [A-Za-z]+: ' "$WAYS/$1.sql" | way_psql "$database" "${3:-}" >"$2"
  way_psql postgres <<<"DROP DATABASE IF EXISTS $database" >/dev/null
}

# ways_each FUNCTION FILTER: FUNCTION NAME for each way, as many at once as there are
# processors. In a shell of its own, that has no other jobs. A server without
# REGRESS_LACKS is spared the ways that mention it.
ways_each() (
  most=$(getconf _NPROCESSORS_ONLN)
  for name in $(ways_here "$2"); do
    if [ -n "${REGRESS_LACKS:-}" ] && grep -q "$REGRESS_LACKS" "$WAYS/$name.sql"; then
      say "$name skipped: the server lacks $REGRESS_LACKS"
      continue
    fi
    while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do
      wait -n || true
    done
    "$1" "$name" </dev/null &
  done
  wait
)

# way_check NAME: leaves its output, and NAME.diff where that is not what is expected, or
# where what is expected is no proof.
way_check() {
  local out=$WAYS_OUT/$1 expected=$WAYS_EXPECTED/$1.out
  way_run "$1" "$out.out"
  {
    diff -uN --label "expected/ways/$1.out" --label "$1.out" "$expected" "$out.out" || true
    [ -n "$(way_header "$1" without)" ] || echo "$1.sql names no counter-measure (-- without: ...)"
    grep -q '^rightful: 00000' "$out.out" || echo "$1: the rightful holder does nothing"
    ! grep -q '^rightful: [^0]' "$out.out" || echo "$1: the rightful holder is refused"
    grep -qE '^(stale|listed): ' "$out.out" || echo "$1: the stale holder tries nothing"
    ! grep -q '^stale: 00000' "$out.out" || grep '^listed: ' "$out.out" | grep -qv nothing ||
      echo "$1: a stale write passes, and nothing lists it"
  } >"$out.diff"
  [ -s "$out.diff" ] || rm "$out.diff"
}

# way_mutate NAME: runs it without each of its counter-measures. Leaves one line each
# in NAME.mutants: `caught NAME without MEASURE` or `SURVIVED ...`.
way_mutate() {
  local without out
  : >"$WAYS_OUT/$1.mutants"
  for without in $(way_header "$1" without | tr -d ,); do
    out=$WAYS_OUT/$1.without.$without
    way_run "$1" "$out" "$without"
    if way_passes "$WAYS_EXPECTED/$1.out" "$out"; then
      echo "caught $1 without $without" >>"$WAYS_OUT/$1.mutants"
    else
      echo "SURVIVED $1 without $without" >>"$WAYS_OUT/$1.mutants"
    fi
  done
}

# way_passes EXPECTED OUTPUT: whether an attempt that is expected to be refused passed,
# what is expected to be listed is not, or nobody is warned. A difference elsewhere is
# no proof.
way_passes() {
  local said='^WARNING:  guard of table '
  paste -d '\n' <(grep -E '^(stale|listed): ' "$1" | cut -c1-15) <(grep -E '^(stale|listed): ' "$2") |
    awk 'NR % 2 { expected = $0; next }
      /^stale: 00000/ && expected !~ /^stale: 00000/ { passed = 1 }
      /^listed: nothing/ && expected !~ /^listed: nothing/ { passed = 1 }
      END { exit !passed }' ||
    [ "$(grep -c "$said" "$2")" -lt "$(grep -c "$said" "$1")" ]
}

# ways_differences: what way_check left, for a person to read.
ways_differences() {
  cat "$WAYS_OUT"/*.diff >"$WAYS_OUT/all.differences"
  head -n 80 "$WAYS_OUT/all.differences"
  say "all differences: $WAYS_OUT/all.differences; if the new output is right: cp $WAYS_OUT/NAME.out pg_regress/expected/ways/"
}
