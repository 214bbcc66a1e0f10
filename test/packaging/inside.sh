# SPDX-License-Identifier: Apache-2.0
# Functions that run in a chroot that contains nothing of this project except the package under test. usage: bash
# inside.sh FUNCTION...
set -euo pipefail

# get PACKAGE...: installs packages from the registry or from files (with wildcards), without the packages that they
# recommend.
get() {
  local words
  # shellcheck disable=SC2048,SC2086
  words=($*)
  apt-get -qq update
  apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends install "${words[@]}" >/tmp/apt.log 2>&1 ||
    { tail -n 20 /tmp/apt.log; return 1; }
}

as_nobody() {
  setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all \
    --no-new-privs "$@"
}

# first_use [IWARP]: runs commands of iwarp as an ordinary user without privileges, and checks its version and that the
# loader finds all three libraries.
first_use() {
  local iwarp=${1:-iwarp} seen
  [ "$(as_nobody "$iwarp" --version)" = "iwarp $VERSION" ]
  as_nobody "$iwarp" info | head -n 3
  as_nobody "$iwarp" demo -q | tail -n 1
  as_nobody "$iwarp" lab --save /tmp/lab.html
  as_nobody grep -q WebAssembly /tmp/lab.html
  seen=$(as_nobody "$iwarp" run --as roce ls /dev/infiniband | tr '\n' ' ')
  echo "in /dev/infiniband: $seen"
  [ "$seen" = "rdma_cm uverbs0 " ]
}

# rping [IWARP]: runs rdma-core's unmodified rping as server and as client, on a random port.
rping() {
  local iwarp=${1:-iwarp} port=$((20000 + RANDOM % 10000)) server
  as_nobody "$iwarp" run rping -s -a 127.0.0.1 -p $port -C 10 &
  server=$!
  until grep -q ":$(printf %04X $port) .* 0A " /proc/net/tcp; do
    kill -0 $server
    sleep 0.1
  done
  as_nobody "$iwarp" run rping -c -a 127.0.0.1 -p $port -C 10 -v | tail -n 1
  wait $server
  echo "rping: both ends passed"
}

# consumer FOLDER EXAMPLE: builds the programs of another project with CMake, and the example with pkg-config.
consumer() {
  cmake -S "$1" -B /tmp/consumer -DEXAMPLE="$2" --log-level=NOTICE
  cmake --build /tmp/consumer >/dev/null
  /tmp/consumer/consumer
  /tmp/consumer/example
  # shellcheck disable=SC2046
  g++ -std=c++23 -o /tmp/example "$2" $(pkg-config --cflags --libs iwarp)
  /tmp/example
}

# debugging_information: checks that gdb finds the line tables of the command where it looks for them. Needs readelf,
# which g++ has brought.
debugging_information() {
  local id
  id=$(readelf -n /usr/bin/iwarp | sed -n 's/ *Build ID: //p')
  readelf -S "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" | grep -m 1 debug_line
}

# purge PACKAGE...: removes packages, and checks that none of their files remains.
purge() {
  apt-get -qq -y -o Dpkg::Use-Pty=0 purge "$@" >/dev/null
  local left
  left=$(find /usr /etc /var/lib/dpkg/info /var/lib/iwarp -xdev -name '*iwarp*' 2>/dev/null || true)
  if [ -n "$left" ]; then echo "left over: $left"; return 1; fi
  echo "purged: nothing is left"
}

"$@"
