#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 or Ubuntu 24.04 to a test report: installs the packages that are missing,
# configures, builds everything, runs the tests, and ends with one line of counts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source apps/setup.sh

usage() {
  cat <<'TEXT'
usage: test/run.sh [--preset NAME] [--label REGEX] [-- CTEST_OPTION...]
  --preset NAME   release (default), debug, asan, tsan or fuzz
  --label REGEX   only tests with a matching label, for example lint or threads
  -- OPTION...    handed to ctest, for example: -- -R mpa --repeat until-fail:10
environment:
  IWARP_LONG=1    also the long runs (large files, many clients, long simulations)
  IWARP_NO_GUEST=1  without the guest that runs the kernel's siw (200 MB of packages, QEMU)
TEXT
}

preset=release
label=
ctest_options=(-j "$(nproc)")
while [ $# -gt 0 ]; do
  case $1 in
    --preset | --label)
      if [ $# -lt 2 ]; then echo "error: $1 needs a value" >&2; usage >&2; exit 2; fi
      if [ "$1" = --preset ]; then preset=$2; else label=$2; ctest_options+=(-L "$2"); fi
      shift 2 ;;
    --) shift; ctest_options+=("$@"); break ;;
    -h | --help) usage; exit 0 ;;
    *) echo "error: unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
done
case $preset in
  release | debug | asan | tsan | fuzz) ;;
  *) echo "error: unknown preset $preset" >&2; usage >&2; exit 2 ;;
esac

packages=("${build_packages[@]}" "${test_packages[@]}")
if [ "$preset" = fuzz ]; then packages+=("${fuzz_packages[@]}"); fi
case $label in
  '' | interop) if wants_guest; then packages+=("${interop_packages[@]}"); fi ;;
esac
case $label in
  '' | rdma_core | tier[123] | threads) packages+=("${verbs_packages[@]}") ;;
esac
case $label in
  '' | apps) packages+=("${page_packages[@]}") ;;
esac
install_packages "${packages[@]}"
# Of the labels in use, these need only a part of the tree.
case $label in
  threads | apps | rdma_core) configure_and_build "$preset" --target "label_$label" ;;
  *) configure_and_build "$preset" ;;
esac

# GCC 12's ThreadSanitizer cannot map its shadow under strong address randomisation.
run=()
if [ "$preset" = tsan ] && setarch "$(uname -m)" -R true 2>/dev/null; then
  run=(setarch "$(uname -m)" -R)
fi

report=$PWD/build/$preset/tests.xml
started=$SECONDS
status=0
"${run[@]}" ctest --preset "$preset" --output-junit "$report" "${ctest_options[@]}" || status=$?

# The counts stand in the first element: <testsuite tests="9" failures="0" skipped="1" ...>
count() { grep -o -m1 "$1=\"[0-9]*\"" "$report" | tr -dc '0-9'; }
summary="$preset: no report"
if [ -f "$report" ]; then
  summary="$preset: $(count tests) tests, $(count failures) failed, $(count skipped) skipped"
fi
summary="$summary, $((SECONDS - started)) s"
echo "$summary" | tee "build/$preset/summary.txt"
exit "$status"
