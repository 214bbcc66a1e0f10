#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prepares a fresh Debian for the page of `iwarp lab`: installs the packages of apps/demo.sh and a
# compiler for WebAssembly, and builds. Then runs `iwarp lab` with the arguments that were passed to
# this script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source apps/setup.sh

install_packages "${build_packages[@]}" "${programs_packages[@]}" "${lab_packages[@]}"
configure_and_build release iwarp_command
exec build/release/apps/iwarp lab "$@"
