#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the archive for AArch64 with the cross compiler. Under qemu-user, runs the unit tests of the layers without
# I/O, including the CRC32c kernel for ARM.
# Usage: test_aarch64.sh SOURCE_DIR
set -euo pipefail
source=$1
source "$source/test/packaging/support.sh"

tests=(bytes crc32c mpa_data mpa_startup ddp rdmap verbs)
step "build the archive and the unit tests"
archive=$(archive_of bookworm archive-aarch64 "${tests[@]/#/test_}")
size=$(stat -c %s "$archive")
echo "$(basename "$archive"): $size octets"
[ "$size" -le $((8 * 1000 * 1000)) ]

step "unit tests under qemu-user"
in_chroot "$(kept_chroot bookworm cross)" "$source" -- ctest --output-on-failure \
  --test-dir "$source/build/bookworm-archive-aarch64" \
  -R "^($(IFS='|'; echo "${tests[*]}"))\$" --no-tests=error

step "the command of the archive under qemu-user"
tar -xf "$archive" -C "$scratch"
root=$(kept_chroot bookworm cross)
in_chroot "$root" "$scratch" -- qemu-aarch64 -L /usr/aarch64-linux-gnu \
  "$scratch/$(basename "$archive" .tar.xz)/bin/iwarp" info | tee "$scratch/info" | head -n 4
grep -q 'in_use *armv8' "$scratch/info"
step done
