#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the archive for x86-64. It must be small, need only the C library, export no name of a bundled library, and
# work without libstdc++. The debugging information must be in an archive of its own. From the archive to a first rping, a user must need only three lines and 10 s, on Debian
# 12 and on the newest release.
# Usage: test_archive.sh SOURCE_DIR
set -euo pipefail
source=$1
source "$source/test/packaging/support.sh"

step "build the archive"
archive=$(archive_of bookworm archive)
name=$(basename "$archive" .tar.xz)
size=$(stat -c %s "$archive")
echo "$name.tar.xz: $size octets"
[ "$name" = "iwarp-$version-linux-x86_64" ]
[ "$size" -le $((8 * 1000 * 1000)) ]

step "look at it"
tar -xf "$archive" -C "$scratch"
(cd "$scratch" && find "$name" -type f | sort)
for file in LICENSE CHANGELOG.md bin/iwarp lib/iwarp/{libibverbs,librdmacm,libiwarp_presence,libiwarp_careful}.so.1 lib/iwarp/iwarp_judge \
  share/doc/iwarp/licences/{libssl-dev,libfmt-dev,zlib1g-dev,libcli11-dev,nlohmann-json3-dev,libjs-vega,node-react-dom,node-d3-scale,libc++-19-dev-wasm32,wasi-libc}; do
  [ -s "$scratch/$name/$file" ] || { echo "$file is missing" >&2; exit 1; }
done
for file in "$scratch/$name/bin/iwarp" "$scratch/$name"/lib/iwarp/*; do
  needed=$(objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }' | sort | tr '\n' ' ')
  echo "$(basename "$file") needs: $needed"
  for library in $needed; do
    case $library in
      libc.so.6 | libm.so.6 | ld-linux-x86-64.so.2) ;;
      libibverbs.so.1) [[ $file == */librdmacm.so.1 || $file == */iwarp_judge ]] ;;  # beside it, or the system's
      librdmacm.so.1) [[ $file == */iwarp_judge ]] ;;
      *) echo "$file needs $library" >&2; exit 1 ;;
    esac
  done
  if nm -D --defined-only "$file" | grep -E ' [A-Z] (_Z|EVP_|RAND_|OPENSSL_|CRYPTO_)' | head; then
    echo "$file gives away names of what is inside" >&2
    exit 1
  fi
  if readelf -S "$file" | grep -q ' \.debug_info'; then echo "$file: not stripped" >&2; exit 1; fi
done

id=$(readelf -n "$scratch/$name/bin/iwarp" | sed -n 's/ *Build ID: //p')
tar -tf "${archive%.tar.xz}-debug.tar.xz" | grep "lib/debug/.build-id/${id:0:2}/${id:2}.debug"

for suite in bookworm trixie; do
  step "use it in a bare $suite"
  rm -rf --one-file-system "$scratch/root"
  fresh_chroot "$suite" bare
  if find "$scratch/root" -name 'libstdc++*' | grep .; then exit 1; fi
  started=$(date +%s%N)
  tar -xf "$archive" -C "$scratch/root/opt"  # unpacked by the host, because the chroot has no xz
  inside rping "/opt/$name/bin/iwarp"
  echo "from the archive to the end of a first rping: $((($(date +%s%N) - started) / 1000000)) ms"
  [ $((($(date +%s%N) - started) / 1000000000)) -lt 10 ]
  inside first_use "/opt/$name/bin/iwarp"
done
step done
