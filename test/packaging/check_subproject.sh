#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests this source tree inside another project, with add_subdirectory and with FetchContent. It must configure
# without JSON, install nothing of this project, and add no warning flags, and the other project's program must run.
# Only that program is compiled. The layers are linked from the existing objects of the build.
# Usage: check_subproject.sh SOURCE_DIR BUILD_DIR CXX_COMPILER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$1 build=$2 compiler=$3

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for how in subdirectory fetch; do
  cmake -S "$here/subproject" -B "$scratch/$how" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$here/take_object.sh;$build;$scratch/compiled;iwarp" \
    -DCMAKE_CXX_FLAGS="-O2 -g -DNDEBUG" -DHOW=$how -DIWARP="$source" --log-level=NOTICE
  cmake --install "$scratch/$how" --prefix "$scratch/installed" >/dev/null
  if [ -e "$scratch/installed" ]; then
    find "$scratch/installed" >&2
    echo "$how: installing the other project installs files of ours" >&2
    exit 1
  fi
done
cmake --build "$scratch/subdirectory" --target example
if grep -v '/example\.dir/' "$scratch/compiled"; then
  echo "compiled although $build should have them" >&2
  exit 1
fi
"$scratch/subdirectory/example"
