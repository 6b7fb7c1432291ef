# shellcheck shell=bash
# The examples: each folder of examples/ has a run.sh that fails unless it went as it should, and must say
# what its README shows. Sourced by test.sh.

suite_examples() {
  local dir name log passed=0 failed=0
  need_package
  # Beforehand: what is said while something is installed is not what the example says.
  "$ROOT/scripts/setup.sh" etcd
  for dir in "$ROOT"/examples/*/; do
    name=$(basename "$dir")
    [ -z "$1" ] || [ "$name" = "$1" ] || continue
    log=$TARGET/test-example-$name.log
    if step "$log" "$name" env VARIANT=test "$dir/run.sh" && example_says "$dir/README.md" "$log"; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
    fi
  done
  [ $((passed + failed)) -gt 0 ] || die "no example $1"
  tally "$passed" "$failed"
}

# example_says README LOG: the lines after `$ examples/...` in the README are what was said.
example_says() {
  diff -u <(awk '/^```$/ {on = 0} on {print} /^\$ examples\// {on = 1}' "$1") "$2"
}
