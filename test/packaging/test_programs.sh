#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests programs of another Debian release with the release archive: runs the tests of test/rdma_core in a chroot of
# that release with its packages. The chroot is kept. The results are written to BUILD_DIR/programs/SUITE, from
# where rfc-notes/programs.py puts them into the release's column in rfc-notes/programs.md. Programs that the
# release does not have, or has without RDMA, are listed as skipped, with the reason. The tests run in their short
# form, because the long form takes an hour and runs with the packages of this machine's release.
# Usage: test_programs.sh SOURCE_DIR BUILD_DIR SUITE [TEST...]
set -euo pipefail
source=$1 build=$2 suite=$3
shift 3
source "$source/test/packaging/support.sh"

step "build the archive"
archive=$(archive_of bookworm archive)
tar -xf "$archive" -C "$scratch"
iwarp=$scratch/$(basename "$archive" .tar.xz)/bin/iwarp

step "packages of $suite"
root=$chroot_cache/$suite-programs
if [ ! -e "$root.unpacked" ]; then
  rm -rf --one-file-system "$root"
  unpack_chroot "$suite" minimal "$root"
  touch "$root.unpacked"
fi
# shellcheck disable=SC2016  # the inner shell expands the variables
in_chroot "$root" "$source" -- bash -ec '
  cd "$1"
  source apps/setup.sh
  boost_is_installed() { true; }  # nothing is built in the chroot
  # gcc, libasan8 and libibverbs-dev: tests compile programs and plugins
  install_packages python3 libpcap-dev libdw-dev gcc libc6-dev libasan8 libibverbs-dev "${verbs_packages[@]}" "${others_packages[@]}"' packages "$source"

tests=("$@")
if [ ${#tests[@]} = 0 ]; then
  for file in "$source"/test/rdma_core/{,foreign/}test_*.py; do
    name=${file##*/test_}
    tests+=("${name%.py}")
  done
fi
results=$build/programs/$suite
mkdir -p "$results"
passed=() skipped=() failed=()
for name in "${tests[@]}"; do
  step "$name"
  status=0
  in_chroot "$root" "$source" "$build" "$scratch" -- /usr/bin/env -u IWARP_LONG IWARP="$iwarp" \
    IWARP_RESULTS="$results" IWARP_PROGRAMS="$build/test/rdma_core/programs" \
    IWARP_CARELESS="$build/test/rdma_core/careless/careless" \
    PYTHONPATH="$source/test/rdma_core:$source/test/rdma_core/foreign" \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp \
    sh -c 'mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /dev/shm; cd /tmp; exec timeout 900 "$@"' run \
    python3 "$(find "$source/test/rdma_core" -name "test_$name.py")" 2>&1 || status=$?
  case $status in
    0) passed+=("$name") ;;
    77) skipped+=("$name") ;;
    *) failed+=("$name") ;;
  esac
done

step "done: ${#passed[@]} passed"
echo "skipped: ${skipped[*]:-none}"
echo "failed: ${failed[*]:-none}"
[ ${#failed[@]} = 0 ]
