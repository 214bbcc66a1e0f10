# SPDX-License-Identifier: Apache-2.0
# Helpers for the tests in chroots, which source this file after setting $source to the source tree. Sets $scratch
# to a temporary directory that is removed at the end. If a test cannot run here, prints the reason.
# shellcheck shell=bash
source "$source/.ci/chroot.sh"

skip() {
  echo "SKIPPED: $*"
  exit 77
}

if [ "${IWARP_PACKAGES:-}" != 1 ]; then
  skip "builds in chroots, which takes long the first time; IWARP_PACKAGES=1 runs it"
fi
why=$(why_no_chroot)
if [ -n "$why" ]; then skip "$why"; fi

scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT

version=$(sed -n 's/^project(iwarp VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")

step() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

# fresh_chroot SUITE KIND: unpacks a chroot into $scratch/root, together with the packages that apt downloaded last
# time. save_fetched keeps these packages for the next time.
fresh_chroot() {
  unpack_chroot "$1" "$2" "$scratch/root"
  cp "$source/test/packaging/inside.sh" "$scratch/root/inside.sh"
  fetched=$chroot_cache/$1-fetched
  mkdir -p "$fetched"
  if [ "$2" = minimal ]; then
    cp "$fetched"/*.deb "$scratch/root/var/cache/apt/archives/" 2>/dev/null || true
  fi
}

save_fetched() { cp -u "$scratch/root"/var/cache/apt/archives/*.deb "$fetched/"; }

# inside COMMAND...: runs a function of inside.sh in the chroot that fresh_chroot has made.
inside() { in_chroot "$scratch/root" -- /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  HOME=/tmp VERSION="$version" LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash /inside.sh "$@"; }

# archive_of SUITE PRESET [TARGET...]: builds an archive, and prints its name.
archive_of() { "$source/.ci/package" "$@" | grep '\.tar\.xz$' | grep -v -- '-debug\.'; }
