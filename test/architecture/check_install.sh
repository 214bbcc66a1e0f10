#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into an empty prefix, then builds and runs the program in consumer/ against it as
# a stranger would: find_package(iwarp), warnings of his own choice, nothing of this tree.
# Usage: check_install.sh BUILD_DIR CXX_COMPILER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 compiler=$2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
cmake -S "$here/consumer" -B "$scratch/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$scratch/prefix" --log-level=NOTICE
if grep -q -- -Werror "$scratch/build/build.ninja"; then
  echo "-Werror leaked into the consumer's flags" >&2
  exit 1
fi
cmake --build "$scratch/build"
"$scratch/build/consumer"
if [ -e "$build/apps/iwarp" ]; then "$scratch/prefix/bin/iwarp" --help >/dev/null; fi
