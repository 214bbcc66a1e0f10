#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into an empty prefix. Checks that the command is stripped, and its line tables are apart. Then builds and runs the programs in consumer/ with it as another project
# does: with find_package(iwarp) and with pkg-config, with its own warning flags, and without this source tree and
# Boost headers. In the end uninstalls everything.
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
  for component in iwarp debug; do
    cmake --install "$build" --prefix "$scratch/prefix" --component $component >/dev/null
  done
  program=$scratch/prefix/bin/iwarp
  if readelf -S "$program" | grep -E '\.(debug_|symtab)'; then
    echo "$program is not stripped" >&2
    exit 1
  fi
  id=$(readelf -n "$program" | sed -n 's/ *Build ID: //p')
  debug=$scratch/prefix/lib/debug/.build-id/${id:0:2}/${id:2}.debug
  readelf -S "$debug" | grep -q '\.debug_line'
  echo "bin/iwarp: $(stat -c %s "$program") octets, and $(stat -c %s "$debug") octets of debugging information"
fi
mkdir "$scratch/manifests"
mv "$build"/install_manifest_{dev,iwarp,debug}.txt "$scratch/manifests" 2>/dev/null || true
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
# Neither the headers nor a program that names only some members of a struct may cause a warning.
for each in "$compiler" $(command -v clang++-19); do
  "$each" -std=c++23 -Wall -Wextra -Wpedantic -Werror -I "$prefix/include" -fsyntax-only \
    "$scratch/build/all_headers.cpp" "$here/consumer/initializers.cpp"
done

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

mv "$prefix" "$scratch/prefix"
cmake -D BUILD="$scratch/manifests" -P "$here/../../.cmake/uninstall.cmake"
if find "$scratch/prefix" ! -type d -o -name iwarp -o -name debug | grep .; then
  echo "uninstalling leaves these files" >&2
  exit 1
fi
