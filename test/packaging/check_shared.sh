#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the option to build a shared library. Configures it as a user does, links it from the existing objects of
# the build, compares its symbols with the list, installs it, and uses it in the same projects as the static
# libraries.
# Usage: check_shared.sh SOURCE_DIR BUILD_DIR CXX_COMPILER BUILD_TYPE
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$1 build=$2 compiler=$3 type=$4

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake -S "$source" -B "$scratch" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$here/take_object.sh;$build;$scratch/compiled;." \
  -DCMAKE_BUILD_TYPE="$type" -DBUILD_SHARED_LIBS=ON -DIWARP_BUILD_APPS=OFF -DIWARP_BUILD_TESTS=OFF \
  -DIWARP_BUILD_RDMA_CORE=OFF --log-level=NOTICE >/dev/null
cmake --build "$scratch" -- --quiet
if grep -v '/iwarp_iwarp\.dir/' "$scratch/compiled"; then
  echo "compiled although $build should have them" >&2
  exit 1
fi
"$here/check_shared.py" "$scratch/libiwarp.so" "$source/.cmake/iwarp.symbols"
"$here/check_install.sh" "$scratch" "$compiler"
