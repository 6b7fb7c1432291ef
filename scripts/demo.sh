#!/usr/bin/env bash
# The delayed holder, played with two real psql processes and real time on a
# private cluster. Fails unless the stale write was rejected with LF001 and the
# new holder's row stands. KEEP=1 leaves the cluster up to look around.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
for part in lib postgres cluster session; do
  # shellcheck source=/dev/null
  . "$here/$part.sh"
done

"$here/setup.sh"
"$here/build.sh" release
pg_use
trap 'session_close_all; cluster_remove' EXIT
cluster_create "$TARGET/package/release"
cluster_start

# must NAME SQL: a statement that the story needs to succeed.
must() {
  session_run "$@"
  [ "$REPLY_STATE" = 00000 ] || die "unexpected answer to session $1: $REPLY"
}

line() {
  printf '%-9s  %-5s %-41s  %-19s  %s\n' "$@"
}

# event WHO WHAT TOKEN VERDICT: a row of the timeline, by the coordinator's clock.
event() {
  must clock "SELECT to_char(extract(epoch FROM clock_timestamp() - '$start'), 'FM990.0')"
  line "t=+$REPLY s" "$@"
}

# acquire NAME: leaves STATUS, TOKEN, SHOWN (the token for people), RETRY (seconds).
acquire() {
  must "$1" "SELECT status, token, CASE WHEN token IS NOT NULL THEN fencing.format_token(token) END, holder, extract(epoch FROM retry_after)
             FROM fencing.acquire('jobs', 'report-2026', holder => '$1')"
  IFS='|' read -r STATUS TOKEN SHOWN HOLDER RETRY <<<"$REPLY"
}

cat <<'E2'

Two workers write one report under a lease of 2 seconds. A is paused in the middle of
its work, as a long garbage collection or a stalled machine would pause it; its lease
runs out and B takes over. A wakes up and writes, not knowing. The database refuses.

  SELECT fencing.create_namespace('jobs', ttl => '2 s');
  CREATE TABLE report (id int PRIMARY KEY, body text, fence bigint, written_under bigint);
  SELECT fencing.protect('report', 'jobs', key => 'report-2026',
                         present_column => 'fence', token_column => 'written_under');

E2
session_open clock
must clock "CREATE EXTENSION fencing"
must clock "SELECT fencing.create_namespace('jobs', ttl => '2 s')"
must clock "CREATE TABLE report (id int PRIMARY KEY, body text, fence bigint, written_under bigint)"
must clock "SELECT fencing.protect('report', 'jobs', key => 'report-2026', present_column => 'fence', token_column => 'written_under')"
session_open A
session_open B

line 'database' 'who' 'what' 'token' 'answer'
line 'clock' '' '' '(epoch:sequence)' ''
line --------- --- ----------------------------------------- ------------------- --------------------------

must clock 'SELECT clock_timestamp()'
start=$REPLY
acquire A
token_a=$TOKEN shown_a=$SHOWN
event A "acquire('jobs', 'report-2026')" "$shown_a" "$STATUS for 2 s"

# Presented inline: the token travels in the statement.
must A "INSERT INTO report (id, body, fence) VALUES (1, 'draft by A', $token_a)"
event A "INSERT ..., fence = its token" "$shown_a" "accepted"

# What A will do next is already on its way; only A itself stands still.
session_pause A
session_send A "UPDATE report SET body = 'late text by A', fence = $token_a WHERE id = 1"
event A "paused (SIGSTOP), its next UPDATE pending" "" "-"

acquire B
event B "acquire('jobs', 'report-2026')" "" "$STATUS by $HOLDER, retry in $(printf '%.1f' "$RETRY") s"
sleep "$RETRY"

must clock "SELECT state, holder FROM fencing.inspect('jobs', 'report-2026')"
IFS='|' read -r state holder <<<"$REPLY"
event '' "inspect('jobs', 'report-2026')" "$shown_a" "$state; is $holder dead? unknown"

acquire B
token_b=$TOKEN shown_b=$SHOWN
event B "acquire('jobs', 'report-2026')" "$shown_b" "$STATUS for 2 s"

# Presented once for a transaction.
must B "BEGIN"
must B "SELECT fencing.present($token_b)"
must B "UPDATE report SET body = 'final text by B' WHERE id = 1"
must B "COMMIT"
event B "BEGIN; present(token); UPDATE ...; COMMIT" "$shown_b" "accepted"

sleep 0.5
session_resume A
event A "goes on (SIGCONT)" "" "-"
session_receive A
stale_state=$REPLY_STATE stale_message=$REPLY
if [ "$stale_state" = 00000 ]; then verdict="ACCEPTED"; else verdict="REJECTED: $stale_state"; fi
event A "UPDATE ..., fence = its token" "$shown_a" "$verdict"

must A "SELECT status FROM fencing.renew($token_a)"
renewed=$REPLY
event A "renew(token)" "$shown_a" "$renewed"

say
say "What A was told:"
grep -E '^(psql:[^ ]* )?(ERROR|DETAIL|HINT):' <<<"$stale_message" | sed 's/^/  /' || true
say
say "The row that stands:"
cluster_psql -P footer=off -c "SELECT id, body, fencing.format_token(written_under) AS written_under FROM report" | sed 's/^/  /'

must clock "SELECT body, written_under FROM report"
row=$REPLY
[ "$stale_state" = LF001 ] || die "the demo failed: the stale write answered $stale_state, not LF001"
[ "$row" = "final text by B|$token_b" ] || die "the demo failed: B's row does not stand: $row"
[ "$renewed" = superseded ] || die "the demo failed: A's renewal answered $renewed, not superseded"

say "A's late write was rejected by the database, in the same transaction that tried it."
say "Neither worker had to check anything. Next: README.md."
if [ -n "${KEEP:-}" ]; then
  session_close_all
  cluster_keep
fi
