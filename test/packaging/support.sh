# SPDX-License-Identifier: Apache-2.0
# What the tests in chroots share. Sourced with $source set to the tree; leaves $scratch, a folder that
# goes with the test. Says loudly why a test does not run here.
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

step() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

# fresh_chroot SUITE KIND: in $scratch/root. What apt fetched the last time is there already;
# save_fetched keeps it for the next.
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

# inside COMMAND...: in the fresh chroot, by inside.sh.
inside() { in_chroot "$scratch/root" -- /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash /inside.sh "$@"; }
