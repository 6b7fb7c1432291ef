# shellcheck shell=bash
# What every script here needs: where things are, how to give up, how to show
# that long work is going on. Sourced, never run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034 # the sourcing scripts use it
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}

# A private cargo-pgrx lives in .tools/ where the user's own is of another
# version (setup.sh). rustup's directory is not on root's PATH everywhere.
PATH=$ROOT/.tools/bin:$PATH
command -v cargo >/dev/null || PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
export PATH

# die MESSAGE: one line that says what to do, and the end.
die() {
  printf 'fencing: %s\n' "$*" >&2
  exit 1
}

say() {
  printf '%s\n' "$*"
}

# writable_dir DIR: makes DIR, or dies.
writable_dir() {
  if ! mkdir -p "$1" 2>/dev/null || [ ! -w "$1" ]; then
    die "cannot write to $1: make it writable for $(id -un), or run as its owner"
  fi
}

# step LOG LABEL COMMAND...: runs COMMAND with its output in LOG. Shows one
# line with the seconds it took, and the end of LOG if it failed (STEP_TAIL lines).
step() {
  local log=$1 label=$2 start=$SECONDS status=0 ticker
  shift 2
  writable_dir "$(dirname "$log")"
  : >"$log"
  tick "$label" "$start" &
  ticker=$!
  # A backtrace would hide the error, and get into a server's messages.
  RUST_BACKTRACE=0 "$@" >>"$log" 2>&1 </dev/null || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  [ ! -t 1 ] || printf '\r\033[K'
  if [ "$status" -eq 0 ]; then
    printf '  %-46s %4d s\n' "$label" $((SECONDS - start))
  else
    printf '  %-46s failed after %d s: %s\n' "$label" $((SECONDS - start)) "$log"
    tail -n "${STEP_TAIL:-40}" "$log"
  fi
  return "$status"
}

# tick LABEL START: keeps the step's line moving on a terminal, and says every
# minute that it is still going elsewhere. Ends with the script that started it:
# a background job doesn't see Ctrl-C.
tick() {
  local label=$1 start=$2 spent
  while kill -0 $$ 2>/dev/null; do
    spent=$((SECONDS - start))
    if [ -t 1 ]; then
      printf '\r  %-46s %4d s' "$label" "$spent"
    elif [ "$spent" -gt 0 ] && [ $((spent % 60)) -eq 0 ]; then
      printf '  %-46s %4d s ...\n' "$label" "$spent"
    fi
    # No inherited stdout: a sleep left over must not hold a pipe open.
    sleep 1 >/dev/null 2>&1
  done
}
