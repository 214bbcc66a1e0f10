#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# This tree inside another project, by add_subdirectory and by FetchContent: it configures without
# JSON, installs nothing of ours, adds no warning flags, and the program runs.
# Usage: check_subproject.sh SOURCE_DIR BUILD_DIR CXX_COMPILER WERROR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$1 build=$2 compiler=$3 werror=$4

# Beside the build, with its flags: so the compiler cache has most of it.
scratch=$(mktemp -d "$build-subproject-XXXX")
trap 'rm -rf "$scratch" "$scratch-fetch" "$scratch-subdirectory"' EXIT
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
for how in subdirectory fetch; do
  cmake -S "$here/subproject" -B "$scratch-$how" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
    "${launcher[@]}" -DCMAKE_CXX_FLAGS="-O2 -g -DNDEBUG" -DIWARP_WERROR="$werror" -DHOW=$how -DIWARP="$source" --log-level=NOTICE
  cmake --install "$scratch-$how" --prefix "$scratch/installed" >/dev/null
  if [ -e "$scratch/installed" ]; then
    find "$scratch/installed" >&2
    echo "$how: installing the other project installs files of ours" >&2
    exit 1
  fi
done
cmake --build "$scratch-subdirectory" --target example
"$scratch-subdirectory/example"
