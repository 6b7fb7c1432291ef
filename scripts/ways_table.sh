#!/usr/bin/env bash
# Writes the table of docs/ways.md, below its last line of text, from the heads of
# pg_regress/ways/*.sql:  scripts/ways_table.sh [--check]
# With --check it only says whether the table is what the heads say.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
for part in lib ways; do
  # shellcheck source=/dev/null
  . "$here/$part.sh"
done

DOC=$ROOT/docs/ways.md
MARK='<!-- The table is made by scripts/ways_table.sh from the heads of the tests. -->'
AREAS=('statements' 'keys' 'TRUNCATE' 'partitions' 'inheritance' 'foreign keys' 'detours' 'transactions' 'tokens' 'replication' 'DDL' 'switched off')

# row NAME: its row, or the end if a field is missing.
row() {
  local field value since cells=
  since=$(way_header "$1" since)
  for field in way PostgreSQL fencing; do
    value=$(way_header "$1" "$field")
    [ -n "$value" ] || die "pg_regress/ways/$1.sql has no line \"-- $field: ...\""
    [ "$field" != PostgreSQL ] || [ -z "$since" ] || value="from $since on: $value"
    cells+="$value | "
  done
  echo "| ${cells}[$1](../pg_regress/ways/$1.sql) |"
}

table() {
  local area name known
  known=" $(printf '%s, ' "${AREAS[@]}")"
  echo '| way | PostgreSQL | fencing | test |'
  echo '|---|---|---|---|'
  for area in "${AREAS[@]}"; do
    echo "| **$area** | | | |"
    for name in $(ways_names ''); do
      [ "$(way_header "$name" area)" != "$area" ] || row "$name"
    done
  done
  for name in $(ways_names ''); do
    area=$(way_header "$name" area)
    [[ $known == *" $area, "* ]] || die "pg_regress/ways/$name.sql has no line \"-- area: ...\" with one of:${known%, }"
  done
}

made() {
  sed "/^<!-- The table/,\$d" "$DOC"
  echo "$MARK"
  echo
  table
}

if [ "${1:-}" = --check ]; then
  made | diff -u --label docs/ways.md --label 'the tests' "$DOC" -
else
  made >"$DOC.new"
  mv "$DOC.new" "$DOC"
fi
