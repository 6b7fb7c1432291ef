# shellcheck shell=bash
# The rate of single-row UPDATE statements: 8 clients, each with a lease and rows
# of its own, prepared statements, every commit on disk. Sourced by run.sh.

RATE_CLIENTS=8
RATE_ROWS=100 # a client
# One statement a transaction: measured in turns.
RATE_STATEMENTS=(unguarded empty inline unguarded_each inline_each by_hand)
# Several in one, and their baseline: in rounds.
RATE_BLOCKS=(unguarded present application)

# rate_tables: the variants' tables, made and filled alike.
rate_tables() {
  local variant table
  for variant in "${RATE_STATEMENTS[@]}" "${RATE_BLOCKS[@]:1}"; do
    for table in $(rate_table_names "$variant"); do
      rate_table "$variant" "$table"
    done
  done
}

# Where clients have a table each, a guard with one key can stand on it.
rate_table_names() {
  case $1 in
  *_each) printf "bench.$1_%d\n" $(seq 0 $((RATE_CLIENTS - 1))) ;;
  *) echo "bench.$1" ;;
  esac
}

rate_table() {
  local variant=$1 table=$2
  echo "CREATE TABLE $table (id int PRIMARY KEY, grp text NOT NULL, v int NOT NULL, body text NOT NULL, fence bigint) WITH (fillfactor = 50);"
  echo "INSERT INTO $table SELECT i, 'client-' || i / $RATE_ROWS, 0, md5(i::text) FROM generate_series(0, $((RATE_CLIENTS * RATE_ROWS - 1))) AS i;"
  case $variant in
  empty) echo "CREATE TRIGGER t BEFORE INSERT OR UPDATE ON $table FOR EACH ROW EXECUTE FUNCTION bench.empty_trigger();" ;;
  inline | present) echo "SELECT fencing.protect('$table', 'bench', key_columns => '{grp}', present_column => 'fence');" ;;
  inline_each) echo "SELECT fencing.protect('$table', 'bench', key => 'client-${table##*_}', present_column => 'fence');" ;;
  by_hand) echo "CREATE TRIGGER t BEFORE INSERT OR UPDATE ON $table FOR EACH ROW EXECUTE FUNCTION bench.fence_by_row();" ;;
  esac
  case $variant in
  inline* | present | by_hand) echo "SELECT bench.must_refuse('$variant', 'UPDATE $table SET v = v');" ;;
  esac
}

# rate_script VARIANT: what a client does, over and over. All draw the same
# numbers, so that pgbench itself costs the same.
rate_script() {
  local variant=$1 client
  local update="UPDATE bench.$variant SET v = v + 1 WHERE id = :id;"
  local inline="UPDATE bench.$variant SET v = v + 1, fence = :token WHERE id = :id;"
  echo "\\set id :client_id * $RATE_ROWS + random(0, $((RATE_ROWS - 1)))"
  echo "\\set token :first_token + :client_id"
  case $variant in
  inline | by_hand) echo "$inline" ;;
  present) printf '%s\n' "BEGIN;" "SELECT fencing.present(:token);" "$update" "COMMIT;" ;;
  application)
    echo "BEGIN;"
    echo "SELECT FROM bench.hand_lease WHERE key = 'client-' || :client_id AND token = :token AND expires_at > clock_timestamp() FOR SHARE;"
    printf '%s\n' "$update" "COMMIT;"
    ;;
  *_each)
    [ "$variant" = inline_each ] && update=$inline
    for ((client = 0; client < RATE_CLIENTS; client++)); do
      echo "\\if :client_id = $client"
      echo "${update/bench.$variant/bench.${variant}_$client}"
      printf '%s\n' '\endif'
    done
    ;;
  *) echo "$update" ;;
  esac
}

# bench_rate SETS ROUNDS SECONDS RUN: so many sets of turns and rounds of runs of RUN seconds, or what fits in
# SECONDS, three quarters of them for the turns. Rounds and sets are whole: report.sql compares within them.
bench_rate() {
  local variant
  rate_tables | cluster_psql -o /dev/null
  for variant in "${RATE_STATEMENTS[@]}" "${RATE_BLOCKS[@]}"; do
    rate_script "$variant" >"$CLUSTER_DIR/$variant.pgbench"
  done
  pace_script
  bench_turns rate "$1" $(($3 * 3 / 4)) "${RATE_STATEMENTS[@]}"
  in_rounds "$2" $(($3 / 4)) rate_measure "$4" "${RATE_BLOCKS[@]}"
}

# first_client: the token of the first client's lease.
first_client() {
  first_of "bench.token WHERE key ~ '^client'" 32
}

# first_of TABLE COUNT: the first of so many consecutive tokens.
first_of() {
  local first
  first=$(cluster_psql -At -c "SELECT min(token) FROM $1 HAVING max(token) - min(token) = $2 - 1 AND count(*) = $2")
  [ -n "$first" ] || die "the tokens in $1 are not $2 consecutive ones"
  echo "$first"
}

# rate_measure VARIANT ROUND RUN
rate_measure() {
  local variant=$1 before after tps
  {
    rate_table_names "$variant" | sed 's/.*/VACUUM &;/'
    echo "VACUUM bench.hand_lease; CHECKPOINT;"
  } | cluster_psql
  before=$(rate_pace)
  tps=$(rate_pgbench "$variant" -M prepared -c "$RATE_CLIENTS" -j 2 -T "$3" -D "first_token=$(first_client)" | tps)
  after=$(rate_pace)
  note block "$variant" "$2" "$tps" "greatest($before, $after)"
}

pace_script() {
  echo "SELECT bench.pace();" >"$CLUSTER_DIR/pace.pgbench"
}

# rate_pace: milliseconds that a fixed piece of work takes on both cores at once.
rate_pace() {
  rate_pgbench pace -c 2 -j 2 -t 8 | sed -n 's/^latency average = \([0-9.]*\) ms/\1/p'
}

# rate_pgbench SCRIPT ARGUMENT...
rate_pgbench() {
  local script=$1 out
  shift
  out=$("$CLUSTER_BIN/pgbench" -n -f "$CLUSTER_DIR/$script.pgbench" "$@" 2>&1) || die "pgbench failed ($script): $out"
  echo "$out"
}
