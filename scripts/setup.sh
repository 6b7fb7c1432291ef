#!/usr/bin/env bash
# Installs what building and testing need and the machine lacks, nothing else; with
# the arguments `etcd` and `redis`, those as well, for etcd's example and the
# benchmarks. Says nothing when nothing is missing. Packages come from apt;
# elsewhere it says what to install. A PostgreSQL chosen by PG_CONFIG is only checked.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
# shellcheck source=scripts/postgres.sh
. "$here/postgres.sh"

PGRX_VERSION=0.18.1
WITH=" $* "

check_rust() {
  local needed have
  command -v cargo >/dev/null || die "cargo not found: install Rust from https://rustup.rs or your distribution, then run this again"
  command -v rustc >/dev/null || die "rustc not found: install Rust from https://rustup.rs or your distribution, then run this again"
  needed=$(sed -nE 's/^rust-version *= *"([^"]+)".*/\1/p' "$ROOT/Cargo.toml" | head -n 1)
  have=$(rustc --version | cut -d ' ' -f 2)
  if [ "$(printf '%s\n' "$needed" "$have" | sort -V | head -n 1)" != "$needed" ]; then
    die "rustc $have is too old: install Rust $needed or newer (rustup update stable), then run this again"
  fi
}

# bindgen reads PostgreSQL's headers through libclang and needs clang's own headers.
has_libclang() {
  [ -n "${LIBCLANG_PATH:-}" ] && return
  compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null &&
    compgen -G '/usr/lib/llvm-*/lib/clang/*/include/stddef.h' >/dev/null && return
  # Elsewhere than on Debian: where the linker looks.
  grep -q 'libclang[-.]' < <(ldconfig -p 2>/dev/null) && ! command -v apt-get >/dev/null
}

# The apt packages that are missing, one a line.
missing_packages() {
  local major
  command -v cc >/dev/null || echo gcc
  has_libc_headers || echo libc6-dev
  command -v make >/dev/null || echo make
  command -v pkg-config >/dev/null || echo pkg-config
  has_libclang || echo libclang-dev
  has_pgbouncer || echo pgbouncer
  case $WITH in *" etcd "*) command -v etcd >/dev/null || echo etcd-server ;; esac
  case $WITH in *" redis "*) command -v redis-server >/dev/null || echo redis-server ;; esac
  if ! has_pgrx; then
    # cargo-pgrx itself links OpenSSL.
    pkg-config --exists openssl 2>/dev/null || echo libssl-dev
  fi
  if [ -z "${PG_CONFIG:-}" ] && [ -z "$(pg_find)" ]; then
    major=$(packaged_major)
    echo "postgresql-$major"
    echo "postgresql-server-dev-$major"
  fi
}

# For the tests behind a pooler. It is not on everyone's PATH.
has_pgbouncer() {
  command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ]
}

has_libc_headers() {
  [ -f /usr/include/stdio.h ] || ! command -v apt-get >/dev/null
}

# The oldest supported major that apt offers (Debian 12: 15).
packaged_major() {
  local major
  for ((major = PG_OLDEST; major <= PG_NEWEST; major++)); do
    if apt-cache show "postgresql-server-dev-$major" >/dev/null 2>&1; then
      echo "$major"
      return
    fi
  done
  echo "$PG_OLDEST"
}

has_pgrx() {
  [ "$(cargo pgrx --version 2>/dev/null)" = "cargo-pgrx $PGRX_VERSION" ]
}

# as_root COMMAND...: a password is asked for only where someone can type it.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

check_root() {
  [ "$(id -u)" -eq 0 ] && return
  command -v sudo >/dev/null || die "missing: $*; no sudo here: as root, run: apt-get install $*"
  sudo -n true 2>/dev/null && return
  [ -t 0 ] || die "missing: $*; sudo needs a password: run: sudo apt-get install $*"
  sudo -v || die "missing: $*; as root, run: apt-get install $*"
}

# PostgreSQL's package would create and start a cluster of its own. Nobody
# asked for one, so that is switched off while it is installed.
without_main_cluster() {
  local dir=/etc/postgresql-common/createcluster.d status=0
  local conf=$dir/zz-fencing-setup.conf
  as_root mkdir -p "$dir"
  echo 'create_main_cluster = false' | as_root tee "$conf" >/dev/null
  # The package's own default configuration reads that directory; it may be
  # put there only now, and its configuration files are not ours to answer for.
  "$@" || status=$?
  as_root rm -f "$conf"
  return "$status"
}

# Nor does anybody want a pooler, an etcd or a Redis to run that a test has need of.
without_services() {
  local policy=/usr/sbin/policy-rc.d status=0 service
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
    as_root chmod +x $policy
  else
    policy=
  fi
  "$@" || status=$?
  [ -z "$policy" ] || as_root rm -f "$policy"
  if command -v systemctl >/dev/null; then
    for service in pgbouncer etcd redis-server; do
      case " ${packages[*]} " in *" $service"*) as_root systemctl --quiet disable "$service" 2>/dev/null || true ;; esac
    done
  fi
  return "$status"
}

apt_update() {
  as_root apt-get -o DPkg::Lock::Timeout=300 update
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold \
    install -y --no-install-recommends "$@"
}

install_packages() {
  local log=$TARGET/setup-apt.log packages
  command -v apt-get >/dev/null || die "missing: $*; no apt here: install what these Debian packages hold, or set PG_CONFIG to your PostgreSQL $PG_OLDEST to $PG_NEWEST"
  check_root "$@"
  step "$log" "reading the package lists" apt_update || die "apt-get update failed: see $log"
  # Only now does apt know for sure which PostgreSQL it has.
  mapfile -t packages < <(missing_packages)
  say "  missing: ${packages[*]}"
  local quietly=()
  case " ${packages[*]} " in *" postgresql-"*) quietly+=(without_main_cluster) ;; esac
  case " ${packages[*]} " in *" pgbouncer "* | *" etcd-server "* | *" redis-server "*) quietly+=(without_services) ;; esac
  step "$log" "installing them" "${quietly[@]}" apt_install "${packages[@]}" || die "apt-get install failed: see $log"
}

# Where the user has another cargo-pgrx, theirs stays; ours goes to .tools/.
install_pgrx() {
  local log=$TARGET/setup-pgrx.log where=()
  if cargo pgrx --version >/dev/null 2>&1; then
    where=(--root "$ROOT/.tools")
  fi
  CARGO_TARGET_DIR=$TARGET/setup-pgrx step "$log" "building cargo-pgrx $PGRX_VERSION (some minutes, once)" \
    cargo install cargo-pgrx --version "$PGRX_VERSION" --locked "${where[@]}" ||
    die "cargo-pgrx $PGRX_VERSION could not be installed: see $log"
  rm -rf "$TARGET/setup-pgrx"
}

check_rust
writable_dir "$TARGET"
[ -z "${PG_CONFIG:-}" ] || pg_use
mapfile -t missing < <(missing_packages)
[ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
has_pgrx || install_pgrx
pg_use
