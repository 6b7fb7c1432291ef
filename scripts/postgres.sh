# shellcheck shell=bash
# Which PostgreSQL is meant. Sourced after lib.sh, never run.
#
# PG_CONFIG, if set, decides. Otherwise: the first server with headers where
# Debian's packages put it, then the one on PATH.

PG_OLDEST=15
PG_NEWEST=18

# pg_major VERSION: 15 of "PostgreSQL 15.20 (...)".
pg_major() {
  sed -E 's/^PostgreSQL ([0-9]+).*/\1/' <<<"$1"
}

# pg_flaw PG_CONFIG: why that PostgreSQL can't be used; nothing if it can.
pg_flaw() {
  local config=$1 version major
  if ! command -v "$config" >/dev/null; then
    echo "PG_CONFIG=$config is not a program: set it to the pg_config of PostgreSQL $PG_OLDEST to $PG_NEWEST"
    return
  fi
  version=$("$config" --version 2>/dev/null) || true
  if [[ ! $version =~ ^PostgreSQL\ [0-9]+ ]]; then
    echo "$config is no pg_config: set PG_CONFIG to the pg_config of PostgreSQL $PG_OLDEST to $PG_NEWEST"
    return
  fi
  major=$(pg_major "$version")
  if [ "$major" -lt "$PG_OLDEST" ] || [ "$major" -gt "$PG_NEWEST" ]; then
    echo "$config is $version: set PG_CONFIG to the pg_config of PostgreSQL $PG_OLDEST to $PG_NEWEST"
  elif [ ! -x "$("$config" --bindir)/postgres" ]; then
    echo "no server in $("$config" --bindir): install PostgreSQL $major's server, or set PG_CONFIG to another"
  elif [ ! -f "$("$config" --includedir-server)/postgres.h" ]; then
    echo "no server headers in $("$config" --includedir-server): install PostgreSQL $major's server development package, or set PG_CONFIG to another"
  fi
}

# pg_find: prints the pg_config to use; nothing if there is none.
pg_find() {
  local major config
  for ((major = PG_OLDEST; major <= PG_NEWEST; major++)); do
    config=/usr/lib/postgresql/$major/bin/pg_config
    if [ -x "$config" ] && [ -z "$(pg_flaw "$config")" ]; then
      echo "$config"
      return
    fi
  done
  if config=$(command -v pg_config) && [ -z "$(pg_flaw "$config")" ]; then
    echo "$config"
  fi
}

# needs_newer FILE: whether a test says `-- since: MAJOR` of a later PostgreSQL than this.
needs_newer() {
  local since
  since=$(sed -nE 's/^-- since: ([0-9]+)$/\1/p' "$1")
  [ "${since:-0}" -gt "$PG_MAJOR" ]
}

# pg_use: settles PG_CONFIG and reads where its PostgreSQL keeps things, or dies.
pg_use() {
  local flaw
  PG_CONFIG=${PG_CONFIG:-$(pg_find)}
  [ -n "$PG_CONFIG" ] || die "no PostgreSQL $PG_OLDEST to $PG_NEWEST with server headers: run scripts/setup.sh, or set PG_CONFIG"
  flaw=$(pg_flaw "$PG_CONFIG")
  [ -z "$flaw" ] || die "$flaw"
  PG_CONFIG=$(command -v "$PG_CONFIG")
  PG_VERSION=$("$PG_CONFIG" --version)
  PG_MAJOR=$(pg_major "$PG_VERSION")
  PG_BINDIR=$("$PG_CONFIG" --bindir)
  PG_SHAREDIR=$("$PG_CONFIG" --sharedir)
  PG_PKGLIBDIR=$("$PG_CONFIG" --pkglibdir)
  # The test drivers that come with the server's development files.
  PG_TESTDIR=$(cd "$(dirname "$("$PG_CONFIG" --pgxs)")/../test" 2>/dev/null && pwd) || PG_TESTDIR=
  # With this, pgrx needs no `cargo pgrx init` and touches nothing in $HOME.
  # Every cargo call gets the same value, or cargo rebuilds the bindings.
  export PG_CONFIG PGRX_PG_CONFIG_PATH=$PG_CONFIG
  export PG_VERSION PG_MAJOR PG_BINDIR PG_SHAREDIR PG_PKGLIBDIR PG_TESTDIR
}
