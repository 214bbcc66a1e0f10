#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prepares a fresh Debian for the demonstration: installs missing packages, configures, builds the part
# that `iwarp demo` needs, and runs it with the arguments that were passed to this script. Then builds
# the rest: the iwarp command and the libraries of `iwarp run`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source apps/setup.sh

install_packages "${build_packages[@]}" "${programs_packages[@]}"
configure_and_build release iwarp_demo
build/release/apps/iwarp_demo demo "$@"
echo
rest="the other subcommands of iwarp, and the libraries of \`iwarp run\`"
if [ -n "${unit_ms:-}" ]; then
  units=$(($(units_of release iwarp_command) - $(units_of release iwarp_demo)))
  echo "Building the rest, $rest: $units units, about $(minutes_for "$units") min"
else
  echo "Building the rest: $rest"
fi
run_ninja cmake --build --preset release --target iwarp_command
if [ ! -f build/release/apps/lab/lab.html ]; then
  echo "Without the page of iwarp lab: apps/lab.sh installs what it needs, builds it and serves it"
fi
echo "The iwarp command is built: build/release/apps/iwarp --help"
