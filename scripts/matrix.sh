#!/usr/bin/env bash
# Builds and tests with several PostgreSQLs, each in the Debian that has it:
#   scripts/matrix.sh [VERSION ...]      (15 17 18; 16 is Ubuntu's: needs UBUNTU_MIRROR and the
#                                         package ubuntu-keyring, which Debian has from 13 on)
# One line of result for each. Needs root, debootstrap and the network; the Rust
# toolchain is the caller's own. What it makes stays in MATRIX_DIR (target/matrix,
# about 2 GB a version), so that the next run is faster. ONLY="core ways" chooses the suites.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

MATRIX_DIR=${MATRIX_DIR:-$TARGET/matrix}
UBUNTU_KEYRING=${UBUNTU_KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}
SUITES=${ONLY:-core regress isolation ways mutations clusters docs}

# debian_mirror: the one that this machine's apt uses, or DEBIAN_MIRROR.
debian_mirror() {
  local found
  # shellcheck disable=SC2016 # apt-get's own placeholder
  found=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | awk '/debian\/*$/ && !n++')}
  [ -n "$found" ] || die "no Debian mirror known: set DEBIAN_MIRROR"
  echo "$found"
}

# source_of VERSION: SUITE MIRROR SCRIPT of the distribution that has it. A script is what
# debootstrap does; it knows no suite that is younger than itself.
source_of() {
  case $1 in
  15) echo bookworm "$(debian_mirror)" sid ;;
  16) echo noble "${UBUNTU_MIRROR:?set UBUNTU_MIRROR to a mirror of Ubuntu}" gutsy ;;
  17) echo trixie "$(debian_mirror)" sid ;;
  18) echo forky "$(debian_mirror)" sid ;;
  *) die "no PostgreSQL $1 to be had here: give 15, 16, 17 or 18" ;;
  esac
}

# inside ROOT COMMAND...: in a mount namespace of its own, so nothing stays mounted.
inside() {
  local root=$1
  shift
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount bash -euc '
    root=$1
    shift
    mount --rbind /dev "$root/dev"
    for dir in /proc "$ROOT" "$CARGO_HOME" "$RUSTUP_HOME"; do
      mkdir -p "$root$dir"
      mount --bind "$dir" "$root$dir"
    done
    mkdir -p "$root/target"
    mount --bind "$MATRIX_TARGET" "$root/target"
    exec chroot "$root" env CARGO_TARGET_DIR=/target TMPDIR=/tmp LC_ALL=C.UTF-8 \
      PATH="$CARGO_HOME/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "$@"' \
    inside "$root" "$@"
}

# make_root VERSION ROOT: a small system with what building needs.
make_root() {
  local version=$1 root=$2 suite mirror script options=()
  read -r suite mirror script < <(source_of "$version")
  [ "$suite" != noble ] || options=("--components=main,universe" "--keyring=$UBUNTU_KEYRING")
  rm -rf "$root.new"
  debootstrap --variant=minbase --include=ca-certificates,gcc,libc6-dev,make,pkg-config,libclang-dev,libssl-dev \
    "${options[@]}" "$suite" "$root.new" "$mirror" "/usr/share/debootstrap/scripts/$script" || return
  # No cluster, no service: the tests have their own.
  printf '#!/bin/sh\nexit 101\n' >"$root.new/usr/sbin/policy-rc.d"
  chmod +x "$root.new/usr/sbin/policy-rc.d"
  mkdir -p "$root.new/etc/postgresql-common/createcluster.d"
  echo 'create_main_cluster = false' >"$root.new/etc/postgresql-common/createcluster.d/none.conf"
  inside "$root.new" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    "postgresql-$version" "postgresql-server-dev-$version" pgbouncer || return
  mv "$root.new" "$root"
}

# try VERSION: its line.
try() {
  local version=$1 dir=$MATRIX_DIR/$1 config=/usr/lib/postgresql/$1/bin/pg_config result
  export MATRIX_TARGET=$dir/target
  writable_dir "$MATRIX_TARGET"
  [ -d "$dir/root" ] ||
    step "$dir/root.log" "making a system with PostgreSQL $version" make_root "$version" "$dir/root" || return
  # shellcheck disable=SC2086 # a list of suites
  STEP_TAIL=0 step "$dir/test.log" "testing with PostgreSQL $version" \
    inside "$dir/root" env PG_CONFIG="$config" "$ROOT/scripts/test.sh" $SUITES || FAILED=1
  result=$(tail -n 1 "$dir/test.log")
  RESULTS+=("PostgreSQL $(inside "$dir/root" "$config" --version | cut -d ' ' -f 2): $result")
}

[ $# -gt 0 ] || set -- 15 17 18
for version in "$@"; do
  [ ! -d "$MATRIX_DIR/$version/root" ] || continue # made already
  source_of "$version" >/dev/null
  [ "$version" != 16 ] || [ -e "$UBUNTU_KEYRING" ] ||
    die "PostgreSQL 16 comes from Ubuntu: install ubuntu-keyring, or set UBUNTU_KEYRING to its ubuntu-archive-keyring.gpg"
done
[ "$(id -u)" -eq 0 ] || die "the matrix needs root, to make and enter systems of its own: run it with sudo -E"
for tool in debootstrap unshare cargo; do
  command -v "$tool" >/dev/null || die "the matrix needs $tool: install it (Debian: apt-get install debootstrap util-linux; Rust: https://rustup.rs)"
done
export ROOT CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
unset PGRX_PG_CONFIG_PATH

RESULTS=()
FAILED=0
for version in "$@"; do
  try "$version" || { FAILED=1 && RESULTS+=("PostgreSQL $version: no result: see $MATRIX_DIR/$version"); }
done
printf '%s\n' "${RESULTS[@]}"
[ "$FAILED" -eq 0 ]
