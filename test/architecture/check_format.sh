#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that all C++ sources are formatted by clang-format 19. Other versions format some details differently.
# Without version 19 the check is skipped (exit status 77) with a message.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if ! command -v clang-format-19 >/dev/null; then
  echo "SKIPPED: clang-format-19 is not installed (apt-get install clang-format-19)"
  exit 77
fi
sources=$(find . \( -path './build*' -o -path './.?*' \) -prune -o -name '*.[ch]pp' -print)
unformatted=$(echo "$sources" |
  xargs clang-format-19 --dry-run 2>&1 | sed -n 's/^\([^: ]*\.[ch]pp\):[0-9].*/\1/p' | sort -u)
if [ -n "$unformatted" ]; then
  echo "not as clang-format 19 has it; run clang-format-19 -i on:"
  echo "$unformatted"
  exit 1
fi
