#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shared library as an option: built, its symbols held against the list, installed, and used by
# the same projects as the static ones.
# Usage: check_shared.sh SOURCE_DIR BUILD_DIR CXX_COMPILER BUILD_TYPE WERROR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$1 build=$2 compiler=$3 type=$4 werror=$5

# Beside the build, with its flags: so the compiler cache has most of it.
scratch=$(mktemp -d "$build-shared-XXXX")
trap 'rm -rf "$scratch"' EXIT
cmake -S "$source" -B "$scratch" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_BUILD_TYPE="$type" -DBUILD_SHARED_LIBS=ON -DIWARP_BUILD_APPS=OFF -DIWARP_BUILD_TESTS=OFF \
  -DIWARP_BUILD_RDMA_CORE=OFF -DIWARP_WERROR="$werror" --log-level=NOTICE >/dev/null
cmake --build "$scratch" -- --quiet
"$here/check_shared.py" "$scratch/libiwarp.so" "$source/.cmake/iwarp.symbols"
"$here/check_install.sh" "$scratch" "$compiler"
