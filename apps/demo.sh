#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up a fresh Debian for the demonstration: installs missing packages, configures, builds the
# iwarp command and the libraries of `iwarp run`, and runs `iwarp demo` with the arguments of this
# script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source apps/setup.sh

install_packages "${build_packages[@]}" "${programs_packages[@]}"
configure_and_build release iwarp_command
if [ ! -f build/release/apps/lab/lab.html ]; then
  echo "Without the page of iwarp lab: apps/lab.sh installs what it needs, builds it and serves it"
fi
exec build/release/apps/iwarp demo "$@"
