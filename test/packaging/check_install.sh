#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into an empty prefix. Then builds and runs the programs in consumer/ with it as another project
# does: with find_package(iwarp) and with pkg-config, with its own warning flags, and without this source tree and
# Boost headers.
# Usage: check_install.sh BUILD_DIR CXX_COMPILER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 compiler=$2
example=$here/../../apps/examples/hello_send.cpp

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/moved  # moved after installing, so the package must find its files relative to its own location
cmake --install "$build" --prefix "$scratch/prefix" --component dev >/dev/null
if [ -e "$build/apps/iwarp" ]; then
  cmake --install "$build" --prefix "$scratch/prefix" --component iwarp >/dev/null
fi
mv "$scratch/prefix" "$prefix"
libraries=$(dirname "$(find "$prefix" -name 'libiwarp*' ! -type d ! -path '*/iwarp/*' | head -n1)")

cmake -S "$here/consumer" -B "$scratch/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLE="$example" --log-level=NOTICE
if grep -q -- -Werror "$scratch/build/build.ninja"; then
  echo "-Werror leaked into the consumer's flags" >&2
  exit 1
fi
cmake --build "$scratch/build"
"$scratch/build/consumer"
"$scratch/build/example"

"$compiler" -std=c++23 -I "$prefix/include" -M "$scratch/build/all_headers.cpp" >"$scratch/read"
if grep -E 'boost|nlohmann|CLI/|fmt/' "$scratch/read"; then
  echo "public headers include another library" >&2
  exit 1
fi

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$libraries/pkgconfig
  # The output has several words, each of which is an argument.
  # shellcheck disable=SC2046
  "$compiler" -std=c++23 -o "$scratch/by_pkg_config" "$example" \
    $(pkg-config --cflags --libs iwarp) -Wl,-rpath,"$libraries"
  "$scratch/by_pkg_config"
  echo "pkg-config says version $(pkg-config --modversion iwarp)"
fi
if [ -e "$prefix/bin/iwarp" ]; then "$prefix/bin/iwarp" --help >/dev/null; fi
