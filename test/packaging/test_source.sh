#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the Debian source package from a clean clone: it must have the version of CMakeLists.txt, contain each file that
# git knows and nothing else but debian/, have the same octets when it is made again, and pass lintian.
# test_debian.sh builds packages from it, and installs and uses these.
# Usage: test_source.sh SOURCE_DIR
set -euo pipefail
source=$1
for tool in git dpkg-source xz; do
  command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
git -C "$source" rev-parse HEAD >/dev/null 2>&1 || { echo "SKIPPED: no git repository"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

clone=$scratch/clone
git clone -q "$source" "$clone"
"$clone/.ci/package" source | tee "$scratch/list"
version=$(sed -n 's/^project(iwarp VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
for file in "iwarp_$version.orig.tar.xz" "iwarp_$version-1.debian.tar.xz" "iwarp_$version-1.dsc"; do
  grep -q "/$file\$" "$scratch/list"
done

dpkg-source --no-check -x "$clone/build/source/iwarp_$version-1.dsc" "$scratch/unpacked" >/dev/null
diff <(git -C "$clone" ls-files | sort) \
  <(cd "$scratch/unpacked" && find . '(' -path ./debian -o -path ./.pc ')' -prune -o ! -type d -printf '%P\n' | sort)
dpkg-parsechangelog -l "$scratch/unpacked/debian/changelog"

cp -r "$clone/build/source" "$scratch/first"
"$clone/.ci/package" source >/dev/null
diff -r "$scratch/first" "$clone/build/source"

if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error "$clone/build/source/iwarp_$version-1.dsc"
else
  echo "NOT CHECKED: lintian is not installed"
fi
