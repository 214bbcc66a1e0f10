#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the Debian packages for one release. Makes the source package, runs dpkg-buildpackage on it in the release's
# chroot, checks all packages with lintian, installs them with apt in a new chroot together with only their
# dependencies, uses them as an ordinary user, and purges them.
# Usage: test_debian.sh SOURCE_DIR SUITE
set -euo pipefail
source=$1 suite=$2
source "$source/test/packaging/support.sh"

step "build packages for $suite from the source package"
"$source/.ci/package" "$suite" package >"$scratch/list"
mapfile -t packages < <(grep '\.deb$' "$scratch/list")
[ ${#packages[@]} = 3 ]
for package in "${packages[@]}"; do
  echo "$(basename "$package"): $(stat -c %s "$package") octets, $(dpkg-deb -f "$package" Depends)"
done

if command -v lintian >/dev/null; then
  step lintian
  lintian --allow-root --fail-on error "${packages[@]}" "$(grep '\.dsc$' "$scratch/list")"
else
  echo "NOT CHECKED: lintian is not installed"
fi

step "install iwarp, use it"
fresh_chroot "$suite" minimal
mkdir "$scratch/root/packages"
cp "${packages[@]}" "$scratch/root/packages/"
inside get '/packages/iwarp_*.deb'
inside first_use
inside get rdmacm-utils
inside rping

step "install libiwarp-dev, build with it"
inside get '/packages/libiwarp-dev_*.deb' g++ cmake make pkg-config
save_fetched
cp -r "$source/test/packaging/consumer" "$scratch/root/consumer"
cp "$source/apps/examples/hello_send.cpp" "$scratch/root/"
inside consumer /consumer /hello_send.cpp

step "install the debugging information"
inside get '/packages/iwarp-dbgsym_*.deb'
inside debugging_information
step purge
inside purge iwarp iwarp-dbgsym libiwarp-dev
step done
