#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes a fresh Debian to a running demonstration: installs missing packages, configures, builds the
# command and what `iwarp run` needs, and runs `iwarp demo` with the arguments given here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source apps/setup.sh

install_packages "${build_packages[@]}" "${programs_packages[@]}"
configure_and_build release iwarp_command
if [ ! -f build/release/apps/lab/lab.html ]; then
  echo "Without the page of iwarp lab: apps/lab.sh installs what it needs, builds it and serves it"
fi
exec build/release/apps/iwarp demo "$@"
