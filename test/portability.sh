#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the committed tree in a chroot of a Debian release, without using anything else of this machine, as a new
# user would. Runs apps/demo.sh, the commands of README.md and of its guides that need no other machine, and
# test/run.sh without the guest. Needs root, mmdebstrap and the packages' mirror. Takes an hour without ccache,
# whose cache is shared with this machine. The chroot is kept; see .ci/chroot.sh.
# usage: test/portability.sh RELEASE [COMPILER] [OPTION_OF_TEST_RUN...]
#   RELEASE: bookworm, trixie ...; COMPILER: g++ (default), clang++ or the name in a package, like clang++-19
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ $# -lt 1 ]; then sed -n '3,8s/^# //p' "$0" >&2; exit 2; fi
source .ci/chroot.sh
release=$1 compiler=${2:-g++}
shift $(($# < 2 ? $# : 2))
why=$(why_no_chroot)
if [ -n "$why" ]; then echo "SKIPPED: cannot make chroots: $why"; exit 77; fi

root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
unpack_chroot "$release" minimal "$root"
mkdir -p "$root/src"
git archive HEAD | tar -x -C "$root/src"
cache=$(ccache -k cache_dir 2>/dev/null || echo "${XDG_CACHE_HOME:-$HOME/.cache}/iwarp/ccache")
mkdir -p "$cache"

cat >"$root/src/.try.sh" <<'TEXT'
set -euo pipefail
cd /src
compiler=$1
shift
if [ "$compiler" != g++ ]; then
  version=${compiler#clang++}
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "clang$version" >/dev/null
fi
export CXX=$compiler CCACHE_DIR=$1 CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1 IWARP_NO_GUEST=1
shift
started=$SECONDS
apps/demo.sh
echo "== the demo after $((SECONDS - started)) s"
iwarp=build/release/apps/iwarp
sleep() { command sleep 5; }  # the guides sleep for one second, which is too short on a busy machine
$iwarp run ibv_devinfo
$iwarp run ib_write_bw -R & sleep 1
$iwarp run ib_write_bw -R 127.0.0.1
wait $!
$iwarp run --as roce ibv_rc_pingpong -g 0 & sleep 1
$iwarp run --as roce ibv_rc_pingpong -g 0 127.0.0.1
wait $!
$iwarp run --as roce sh -c 'ls -l /dev/infiniband; cat /sys/class/infiniband/*/node_type'
mkdir -p inbox
$iwarp serve inbox --listen 127.0.0.1:7480 & sleep 1
$iwarp put LICENSE iwarp://127.0.0.1:7480/LICENSE
$iwarp get iwarp://127.0.0.1:7480/LICENSE copy && cmp LICENSE copy
kill $!
$iwarp explain test/vectors/siw/term-stock.pcap
$iwarp cost predict --preset 100g --size 64K
$iwarp cost report --preset 2007 --html report.html
$iwarp perf --self write-bw
$iwarp perf --self tcp-stream
$iwarp perf --self send-lat --poll
echo "== the commands of the guides after $((SECONDS - started)) s"
test/run.sh "$@"
TEXT
in_chroot "$root" "$cache" -- /usr/bin/env HOME=/src PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  bash /src/.try.sh "$compiler" "$cache" "$@"
