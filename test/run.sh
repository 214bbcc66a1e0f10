#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Leads from a fresh Debian to a test report. Installs missing packages, configures, builds everything, runs the
# tests, and prints one line of counts at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source apps/setup.sh

usage() {
  cat <<'TEXT'
usage: test/run.sh [--preset NAME] [--label NAME]... [--build-only] [-- CTEST_OPTION...]
  --preset NAME   release (default), dev, debug, asan, tsan or fuzz
  --label NAME    only tests with this label, for example lint or threads, and what they need
  --build-only    runs nothing
  -- OPTION...    handed to ctest, for example: -- -R mpa --verbose
environment:
  IWARP_LONG=1    also the long runs (large files, many clients, long simulations, all of the kernel's siw)
  IWARP_PACKAGES=1  also the tests of packages, in chroots and containers (as root; downloads some 500 MB)
  CI=true         warnings are errors
  IWARP_NO_GUEST=1  without the guest that runs the kernel's siw (200 MB of packages, QEMU)
TEXT
}

preset=release
labels=()
build_only=
# Most tests spend more time waiting for a guest, a browser or a peer than computing.
ctest_options=(-j "$((2 * $(nproc)))")
while [ $# -gt 0 ]; do
  case $1 in
    --preset | --label)
      if [ $# -lt 2 ]; then echo "error: $1 needs a value" >&2; usage >&2; exit 2; fi
      if [ "$1" = --preset ]; then preset=$2; else labels+=("$2"); fi
      shift 2 ;;
    --build-only) build_only=1; shift ;;
    --) shift; ctest_options+=("$@"); break ;;
    -h | --help) usage; exit 0 ;;
    *) echo "error: unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
done
case $preset in
  release | dev | debug | asan | tsan | fuzz) ;;
  *) echo "error: unknown preset $preset" >&2; usage >&2; exit 2 ;;
esac

packages=("${build_packages[@]}" "${test_packages[@]}")
if [ "$preset" = fuzz ]; then packages+=("${fuzz_packages[@]}"); fi
targets=()
for label in "${labels[@]:-}"; do
  case $label in
    '' | interop) if wants_guest; then packages+=("${interop_packages[@]}"); fi ;;&
    '' | rdma_core | tier[123] | threads*) packages+=("${verbs_packages[@]}") ;;&
    '' | rdma_core | tier3) packages+=("${others_packages[@]}") ;;&
    '' | apps) packages+=("${page_packages[@]}") ;;&
    '' | packaging) if [ "${IWARP_PACKAGES:-}" = 1 ]; then packages+=("${packaging_packages[@]}"); fi ;;&
    # The tests with these labels need only a part of the tree.
    threads* | apps | rdma_core) targets+=("label_$label") ;;
    *) targets+=(all) ;;
  esac
done
install_packages "${packages[@]}"
configure_and_build "$preset" "${targets[@]}"

if [ ${#labels[@]} -gt 0 ]; then
  ctest_options=(-L "^($(IFS='|'; echo "${labels[*]}"))\$" "${ctest_options[@]}")
fi
if [ -n "$build_only" ]; then exit 0; fi

# GCC 12's ThreadSanitizer cannot map its shadow memory with strong address randomization.
run=()
if [ "$preset" = tsan ] && setarch "$(uname -m)" -R true 2>/dev/null; then
  run=(setarch "$(uname -m)" -R)
fi

report=$PWD/build/$preset/tests.xml
started=$SECONDS
status=0
"${run[@]}" ctest --preset "$preset" --output-junit "$report" "${ctest_options[@]}" || status=$?

test/summary.py "$preset" "$report" "$((SECONDS - started))" | tee "build/$preset/summary.txt"
exit "$status"
