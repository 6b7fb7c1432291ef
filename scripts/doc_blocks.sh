#!/usr/bin/env bash
# Runs every SQL block of the given Markdown files on the server that PGHOST and
# so on name:  scripts/doc_blocks.sh FILE ...
#
#   ```sql               must succeed
#   ```sql fails:LF001   must fail with that SQLSTATE
#
# Each file gets a database of its own, each block a psql session of its own. The
# database has the extension already unless a block of the file creates it.
set -euo pipefail

passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run_psql() {
  psql -X -v ON_ERROR_STOP=1 -v VERBOSITY=verbose "$@" 2>&1 </dev/null
}

# extract FILE: writes LINE.sql for each block and prints LINE and the words after
# `sql`. A block in a list is indented; so is its end.
extract() {
  awk -v work="$work" '
    !inside && /^ *```sql( |$)/ {
      inside = 1; indent = match($0, /[^ ]/) - 1; block = work "/" NR ".sql"
      printf "" >block
      sub(/^ *```sql */, ""); print NR, $0; next
    }
    inside && /^ *```$/ { inside = 0; close(block); next }
    inside { print substr($0, indent + 1) >block }' "$1"
}

# run_block DATABASE LINE INFO: succeeds if the block does what INFO says; leaves
# what it said in $work/output.
run_block() {
  local wanted='' status=0 state
  case $3 in
  '') ;;
  fails:?????) wanted=${3#fails:} ;;
  *)
    echo "unknown words after \`\`\`sql: $3" >"$work/output"
    return 1
    ;;
  esac
  run_psql -d "$1" -f "$work/$2.sql" >"$work/output" || status=$?
  if [ -z "$wanted" ]; then
    return "$status"
  fi
  state=$(sed -nE 's/^.*ERROR:  ([0-9A-Z]{5}): .*/\1/p' "$work/output" | tail -n 1)
  if [ "$status" -eq 0 ]; then
    echo "must fail with $wanted, but succeeded" >>"$work/output"
    return 1
  fi
  [ "$state" = "$wanted" ] || {
    echo "must fail with $wanted" >>"$work/output"
    return 1
  }
}

run_file() {
  local file=$1 database line info
  database=doc_$(basename "$file" .md | tr 'A-Z-' 'a-z_' | tr -cd 'a-z0-9_')
  rm -f "$work"/*.sql
  extract "$file" >"$work/blocks"
  run_psql -d postgres -q -c 'SET client_min_messages = warning' \
    -c "DROP DATABASE IF EXISTS $database" -c "CREATE DATABASE $database"
  grep -qiE '^ *create +extension +(if +not +exists +)?fencing' "$work"/*.sql ||
    run_psql -d "$database" -q -c 'CREATE EXTENSION fencing'
  while read -r line info; do
    if run_block "$database" "$line" "$info"; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      printf '%s:%s: this block does not do what it says\n' "$file" "$line"
      sed 's/^/  | /' "$work/$line.sql"
      sed "/^LOCATION:/d; s#^psql:$work/[0-9]*.sql:#line #; s/^/  /" "$work/output"
    fi
  done <"$work/blocks"
}

for file in "$@"; do
  run_file "$file"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
