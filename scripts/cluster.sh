# shellcheck shell=bash
# A private PostgreSQL cluster that leaves no trace: its own copy of the server
# tree, its own data, a unix socket and no port, all in one temporary directory.
# Sourced after lib.sh and postgres.sh, never run.
#
#   cluster_create PACKAGE [SETTING=VALUE ...]   cluster_start   cluster_stop
#   cluster_psql ARGUMENT...   as_cluster_user COMMAND...   cluster_remove (also at exit)
#
# CLUSTER_DIR is the directory, CLUSTER_BIN its server's programs, CLUSTER_USER
# who runs it (empty: whoever runs this script).

CLUSTER_DIR=

# The server refuses to run as root: postgres then, else nobody, owns it.
cluster_pick_user() {
  CLUSTER_USER=
  [ "$(id -u)" -eq 0 ] || return 0
  for CLUSTER_USER in postgres nobody; do
    ! id "$CLUSTER_USER" >/dev/null 2>&1 || return 0
  done
  die "PostgreSQL can't run as root and there is no user postgres: make one (useradd -r postgres), or run this as another user"
}

# as_cluster_user COMMAND...: from a directory which that user may enter, without
# the caller's own PostgreSQL settings, and without Rust backtraces in error texts.
as_cluster_user() {
  local change=()
  [ -z "$CLUSTER_USER" ] || change=(setpriv "--reuid=$CLUSTER_USER" "--regid=$(id -gn "$CLUSTER_USER")" --init-groups --reset-env)
  (cd "$CLUSTER_DIR" && unset RUST_BACKTRACE && "${change[@]}" env "PATH=$PATH" LC_ALL=C "$@")
}

# cluster_make_dir: sockets have short names (107 bytes), so a deep TMPDIR is no
# good. Readable by its owner alone, since inside everyone is trusted.
cluster_make_dir() {
  local base=${TMPDIR:-/tmp}
  [ ${#base} -le 60 ] || base=/tmp
  [ -w "$base" ] || die "cannot write to $base: set TMPDIR to a directory you can write to"
  CLUSTER_DIR=$(mktemp -d "$base/fencing.XXXXXX")
  CLUSTER_DATA=$CLUSTER_DIR/data
  CLUSTER_SOCKET=$CLUSTER_DIR/socket
  mkdir "$CLUSTER_SOCKET"
}

# cluster_make_tree PACKAGE: a server finds its libraries and extensions relative
# to its own program. So the program is copied, the rest linked, all in the layout
# that it was built for, and PACKAGE laid over it: the system's own directories are
# only read.
cluster_make_tree() {
  local package=$1 tree=$CLUSTER_DIR/pg link=(-rs)
  : "${PG_BINDIR:?}" "${PG_PKGLIBDIR:?}" "${PG_SHAREDIR:?}" # what is copied must not be everything
  CLUSTER_BIN=$tree$PG_BINDIR
  { [ -n "$package" ] && [ -d "$package$PG_PKGLIBDIR" ]; } || die "no package to make a cluster with: \"$package\""
  # Links are no good where the cluster's user can't follow them.
  as_cluster_user test -r "$PG_PKGLIBDIR" -a -r "$PG_SHAREDIR" || link=(-rL)
  mkdir -p "$CLUSTER_BIN" "$tree$PG_PKGLIBDIR" "$tree$PG_SHAREDIR"
  cp -r "$PG_BINDIR/." "$CLUSTER_BIN"
  cp "${link[@]}" "$PG_PKGLIBDIR/." "$tree$PG_PKGLIBDIR"
  cp "${link[@]}" "$PG_SHAREDIR/." "$tree$PG_SHAREDIR"
  # Never through a link into the system: it may have the extension installed.
  cp -r --remove-destination "$package/." "$tree"
}

# cluster_create PACKAGE [SETTING=VALUE ...]: ready to be started.
cluster_create() {
  local package=$1 setting
  shift
  [ -n "$(trap -p EXIT)" ] || trap cluster_remove EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  cluster_pick_user
  cluster_make_dir
  [ -z "$CLUSTER_USER" ] || chown -R "$CLUSTER_USER" "$CLUSTER_DIR"
  cluster_make_tree "$package"
  [ -z "$CLUSTER_USER" ] || chown -Rh "$CLUSTER_USER" "$CLUSTER_DIR"
  as_cluster_user "$CLUSTER_BIN/initdb" -D "$CLUSTER_DATA" -U postgres -A trust -E UTF8 --no-locale --no-sync \
    >"$CLUSTER_DIR/initdb.log" 2>&1 || die "initdb failed: $(tail -n 1 "$CLUSTER_DIR/initdb.log")"
  for setting in "listen_addresses=''" "unix_socket_directories='$CLUSTER_SOCKET'" \
    max_connections=120 max_prepared_transactions=20 "$@"; do
    echo "$setting"
  done >>"$CLUSTER_DATA/postgresql.conf"
  # From here on every client that this script starts means this cluster.
  unset PGHOSTADDR PGPASSWORD PGOPTIONS PGSERVICE PGSSLMODE PGCLIENTENCODING PGTZ PGDATESTYLE PGAPPNAME
  export PGHOST=$CLUSTER_SOCKET PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
}

cluster_start() {
  as_cluster_user "$CLUSTER_BIN/pg_ctl" start -w -s -D "$CLUSTER_DATA" -l "$CLUSTER_DIR/server.log" ||
    die "the private cluster did not start: $(tail -n 1 "$CLUSTER_DIR/server.log")"
}

# cluster_stop [MODE]
cluster_stop() {
  as_cluster_user "$CLUSTER_BIN/pg_ctl" stop -w -s -D "$CLUSTER_DATA" -m "${1:-fast}"
}

# cluster_psql ARGUMENT...: a psql session as superuser.
cluster_psql() {
  "$CLUSTER_BIN/psql" -X -q -v ON_ERROR_STOP=1 "$@"
}

cluster_remove() {
  [ -n "$CLUSTER_DIR" ] || return 0
  trap '' INT TERM HUP # a second Ctrl-C must not leave half of it behind
  [ ! -f "$CLUSTER_DATA/postmaster.pid" ] || cluster_stop immediate >/dev/null 2>&1 || true
  rm -rf "$CLUSTER_DIR"
  CLUSTER_DIR=
}

# cluster_keep: leaves the cluster up after the script, and says how to use and end it.
cluster_keep() {
  local run=()
  [ -z "$CLUSTER_USER" ] || run=(setpriv "--reuid=$CLUSTER_USER" --clear-groups)
  cat >"$CLUSTER_DIR/stop" <<END
#!/bin/sh
cd / && ${run[*]} $CLUSTER_BIN/pg_ctl stop -s -m fast -D $CLUSTER_DATA && rm -rf $CLUSTER_DIR
END
  chmod +x "$CLUSTER_DIR/stop"
  say
  say "The cluster stays up. Look around, then stop it and remove all of it:"
  say "  $(command -v psql || echo "$CLUSTER_BIN/psql") -h $CLUSTER_SOCKET -U postgres"
  say "  $CLUSTER_DIR/stop"
  CLUSTER_DIR= # so that nothing is removed at exit
}

# cluster_for_tests: what tests are told that make clusters of their own, and their own connections.
#   FENCING_TEST_BINDIR   programs of a private server tree that has the extension;
#                         the system's own is untouched
#   FENCING_TEST_USER     who must run a server (empty: the caller may)
#   FENCING_TEST_TMPDIR   an empty directory of that user, removed at the end
cluster_for_tests() {
  as_cluster_user mkdir -p "$CLUSTER_DIR/tests"
  export FENCING_TEST_BINDIR=$CLUSTER_BIN FENCING_TEST_USER=$CLUSTER_USER FENCING_TEST_TMPDIR=$CLUSTER_DIR/tests
  unset PGHOST PGPORT PGUSER PGDATABASE
}
