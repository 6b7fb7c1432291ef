# shellcheck shell=bash
# psql sessions that stay open while a script goes on, each a process of its own
# that can be paused. Sourced after cluster.sh, never run.
#
#   session_open NAME      session_send NAME SQL     session_receive NAME
#   session_pause NAME     session_resume NAME       session_run NAME SQL (sends, receives)
#
# A receive leaves the answer in REPLY (psql's unaligned output, messages
# included) and REPLY_STATE (the SQLSTATE of the last statement, 00000 if it
# succeeded).

declare -A SESSION_PID SESSION_IN SESSION_OUT

session_open() {
  local name=$1 pipe=$CLUSTER_DIR/session.$1 in out
  mkfifo "$pipe.in" "$pipe.out"
  # Not through a function: the process must be psql itself, to be paused.
  PGAPPNAME=$name "$CLUSTER_BIN/psql" -X -q -At -v VERBOSITY=verbose <"$pipe.in" >"$pipe.out" 2>&1 &
  SESSION_PID[$name]=$!
  exec {in}>"$pipe.in" {out}<"$pipe.out"
  SESSION_IN[$name]=$in
  SESSION_OUT[$name]=$out
  session_run "$name" 'SELECT 1'
}

session_send() {
  printf '%s;\n\\echo @@ :SQLSTATE\n' "$2" >&"${SESSION_IN[$1]}"
}

session_receive() {
  local line
  REPLY=
  while IFS= read -r -t 20 line <&"${SESSION_OUT[$1]}"; do
    if [[ $line == '@@ '* ]]; then
      # shellcheck disable=SC2034 # for the caller
      REPLY_STATE=${line#@@ }
      return
    fi
    REPLY+=${REPLY:+$'\n'}$line
  done
  die "session $1 does not answer"
}

session_run() {
  session_send "$1" "$2"
  session_receive "$1"
}

session_pause() {
  kill -STOP "${SESSION_PID[$1]}"
}

session_resume() {
  kill -CONT "${SESSION_PID[$1]}"
}

# A session ends when its input does; a paused one must go on to notice.
session_close_all() {
  local name fd
  for name in "${!SESSION_PID[@]}"; do
    fd=${SESSION_IN[$name]}
    kill -CONT "${SESSION_PID[$name]}" 2>/dev/null || true
    exec {fd}>&-
  done
  wait
}
