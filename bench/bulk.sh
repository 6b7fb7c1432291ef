# shellcheck shell=bash
# Cost per row of one statement on many rows. Every measurement gets a table made
# afresh and filled alike, so that all variants meet the same pages. Sourced by run.sh.

BULK_VARIANTS=(unguarded empty row statement one_key many_keys inline token_column by_hand)
# The same rows, in 64 hash partitions.
PARTED_VARIANTS=(unguarded empty row many_keys)

# bulk_variant NAME: how its table is guarded (GUARD), what its transaction does
# first (PRESENT), its key (GRP) and its inline token (FENCE).
bulk_variant() {
  GUARD='' PRESENT='' GRP=one FENCE=NULL
  local token="(SELECT token FROM bench.token WHERE key = 'bulk')"
  local present="SELECT fencing.present($token)"
  case $1 in
  unguarded) ;;
  empty)
    GUARD="CREATE TRIGGER t BEFORE INSERT OR UPDATE ON bench.t FOR EACH ROW EXECUTE FUNCTION bench.empty_trigger()"
    ;;
  row)
    GUARD="SELECT fencing.protect('bench.t', 'bench', key => 'bulk')"
    PRESENT=$present
    ;;
  statement)
    GUARD="SELECT fencing.protect('bench.t', 'bench', key => 'bulk', level => 'statement')"
    PRESENT=$present
    ;;
  one_key)
    GUARD="SELECT fencing.protect('bench.t', 'bench', key_columns => '{grp}')"
    PRESENT="SELECT fencing.present(token) FROM bench.token WHERE key = '0'"
    ;;
  many_keys) # every row has another key than the one before
    GUARD="SELECT fencing.protect('bench.t', 'bench', key_columns => '{grp}')"
    PRESENT="SELECT count(fencing.present(token)) FROM bench.token WHERE key ~ '^[0-9]'"
    GRP=many
    ;;
  inline)
    GUARD="SELECT fencing.protect('bench.t', 'bench', key => 'bulk', present_column => 'fence')"
    FENCE=$BULK_TOKEN
    ;;
  token_column)
    GUARD="SELECT fencing.protect('bench.t', 'bench', key => 'bulk', token_column => 'written_under')"
    PRESENT=$present
    ;;
  by_hand)
    GUARD="CREATE TRIGGER t BEFORE INSERT OR UPDATE ON bench.t FOR EACH ROW EXECUTE FUNCTION bench.fence_by_setting('bulk')"
    PRESENT="SELECT set_config('bench.token', $token::text, true)"
    ;;
  esac
}

# bulk_table PART: a new table bench.t.
bulk_table() {
  local by=''
  [ "${1%_parted}" = "$1" ] || by=' PARTITION BY HASH (id)'
  echo "DROP TABLE IF EXISTS bench.t;"
  echo "CREATE TABLE bench.t (id int NOT NULL, grp int NOT NULL, v int NOT NULL, body text NOT NULL, written_under bigint, fence bigint)$by;"
  [ -z "$by" ] || echo "SELECT format('CREATE TABLE bench.t_%s PARTITION OF bench.t FOR VALUES WITH (MODULUS 64, REMAINDER %s)', i, i) FROM generate_series(0, 63) AS i \\gexec"
}

# bulk_measure PART VARIANT ROUND: the SQL of one measurement; PART is insert or update, or one of
# these with _parted.
bulk_measure() {
  local part=$1 variant=$2 round=$3 load statement
  bulk_variant "$variant"
  load="INSERT INTO bench.t (id, grp, v, body, fence) SELECT id, $GRP, 0, body"
  bulk_table "$part"
  if [ "${part%_parted}" = insert ]; then
    statement="$load, $FENCE FROM bench.source"
  else
    echo "$load, NULL FROM bench.source;"
    echo "VACUUM bench.t;"
    statement="UPDATE bench.t SET v = v + 1"
    [ "$FENCE" = NULL ] || statement+=", fence = $FENCE"
  fi
  [ -z "$GUARD" ] || echo "$GUARD;"
  echo "CHECKPOINT;"
  echo "BEGIN;"
  if [ "$round" -eq 0 ] && [ "$variant" != unguarded ] && [ "$variant" != empty ]; then
    echo "SELECT bench.must_refuse('$variant', '${statement/"$FENCE"/NULL}');"
  fi
  [ -z "$PRESENT" ] || echo "$PRESENT;"
  echo "SELECT bench.measure('$part', '$variant', $round, $BULK_ROWS, '$statement');"
  echo "COMMIT;"
}

# bulk_script WANTED SUFFIX VARIANT...: the SQL of all. Round 0 warms up. Each round starts with
# another variant, and every other one goes backwards.
bulk_script() {
  local all=$1 suffix=$2 round i n variant part wanted
  shift 2
  local variants=("$@")
  n=$#
  echo "DROP TABLE IF EXISTS bench.source;"
  echo "CREATE TABLE bench.source AS SELECT i AS id, 0 AS one, i % 1000 AS many, md5(i::text) AS body FROM generate_series(1, $BULK_ROWS) AS i;"
  echo "VACUUM ANALYZE bench.source;"
  for ((round = 0; round <= MOST_ROUNDS; round++)); do
    for ((i = 0; i < n; i++)); do
      variant=${variants[((round % 2 ? n - 1 - i : i) + round) % n]}
      for part in "insert$suffix" "update$suffix"; do
        wanted=$all
        [ "$part" != insert ] || wanted=$((2 * wanted))           # the differences are small
        [ "$variant" != by_hand ] || wanted=$(((wanted + 2) / 3)) # takes longest, and is far away
        echo "SELECT bench.needed('$part', '$variant', $round, $wanted) AS needed \\gset"
        printf '%s\n' '\if :needed'
        bulk_measure "$part" "$variant" "$round"
        printf '%s\n' '\endif'
      done
    done
  done
}

# bench_bulk WANTED SECONDS
bench_bulk() {
  bulk_run "$1" "$2" '' "${BULK_VARIANTS[@]}"
}

# bench_partitions WANTED SECONDS
bench_partitions() {
  bulk_run "$1" "$2" _parted "${PARTED_VARIANTS[@]}"
}

# bulk_run WANTED SECONDS SUFFIX VARIANT...
bulk_run() {
  local wanted=$1 seconds=$2 suffix=$3
  shift 3
  BULK_TOKEN=$(cluster_psql -At -c "SELECT token FROM bench.token WHERE key = 'bulk'")
  plan "insert$suffix" "$seconds"
  plan "update$suffix" "$seconds"
  bulk_script "$wanted" "$suffix" "$@" >"$CLUSTER_DIR/bulk$suffix.sql"
  cluster_psql -o /dev/null -f "$CLUSTER_DIR/bulk$suffix.sql"
}

# bench_keys ROUNDS: a thousand leases in one transaction, each for one row.
bench_keys() {
  local round variant guard
  for ((round = 0; round <= $1; round++)); do
    for variant in unguarded empty guard; do
      case $variant in
      unguarded) guard='' ;;
      empty) guard="CREATE TRIGGER t BEFORE UPDATE ON bench.keyed FOR EACH ROW EXECUTE FUNCTION bench.empty_trigger();" ;;
      guard) guard="SELECT fencing.protect('bench.keyed', 'bench', key_columns => '{grp}');" ;;
      esac
      echo "DROP TABLE IF EXISTS bench.keyed;"
      echo "CREATE TABLE bench.keyed AS SELECT i AS grp, 0 AS v FROM generate_series(0, 999) AS i;"
      echo "$guard"
      echo "VACUUM ANALYZE bench.keyed;"
      echo "CALL bench.measure_keys('$variant', $round);"
    done
  done >"$CLUSTER_DIR/keys.sql"
  cluster_psql -o /dev/null -f "$CLUSTER_DIR/keys.sql"
}
