#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy 19 over the libraries and the command, with the checks of .clang-tidy; every finding is
# an error. Minutes of work, so it is a step of .ci/run and not a test of every run.
# Usage: check_tidy.sh BUILD_DIR   (a configured build: its compile_commands.json is read)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1

sources=$(find mpa ddp rdmap verbs offload_model apps -name '*.cpp' | sort)
# Sources of another processor are not in the database, and cannot be read here.
known=$(for file in $sources; do
  if grep -q "$PWD/$file\"" "$build/compile_commands.json"; then echo "$file"; fi
done)
checks=()
if [ "${IWARP_LONG:-}" != 1 ]; then checks=("--checks=-clang-analyzer-*"); fi
echo "$known" | xargs -P "$(nproc)" -n 1 clang-tidy-19 --quiet "${checks[@]}" -p "$build" \
  2>/dev/null
echo "tidy: $(echo "$known" | wc -l) files clean"
