# shellcheck shell=bash
# The docs suite: what README.md and docs/ show must work as shown. Sourced by test.sh.

suite_docs() {
  local file log=$TARGET/test-docs.log files=() status=0
  for file in "$ROOT/README.md" "$ROOT"/docs/*.md; do
    grep -qsE '^ *```sql( |$)' "$file" || continue
    [ -n "$1" ] && [ "$(basename "$file" .md)" != "$1" ] || files+=("$file")
  done
  [ ${#files[@]} -gt 0 ] || {
    skip "no SQL blocks yet"
    return
  }
  need_cluster
  PATH=$CLUSTER_BIN:$PATH STEP_TAIL=0 step "$log" "SQL blocks of ${#files[@]} files" "$ROOT/scripts/doc_blocks.sh" "${files[@]}" || status=$?
  sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log" >"$log.sum"
  read -r passed failed <"$log.sum" || die "the blocks could not be run: see $log"
  [ "$status" -eq 0 ] || excerpt "$log"
  tally "$passed" "$failed"
  [ -n "$1" ] || suite_docs_proof
}

# What docs/proof.md names is there.
suite_docs_proof() {
  local log=$TARGET/test-proof.log passed failed
  "$ROOT/scripts/proof_names.sh" >"$log" || excerpt "$log"
  sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log" >"$log.sum"
  read -r passed failed <"$log.sum" || die "the names could not be looked up: see $log"
  tally "$passed" "$failed"
}
