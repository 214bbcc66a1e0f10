#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian to the page of `iwarp lab`: installs the packages that it needs beside those of
# apps/demo.sh (a compiler to WebAssembly), builds, and runs `iwarp lab` with the arguments given here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source apps/setup.sh

install_packages "${build_packages[@]}" "${programs_packages[@]}" "${lab_packages[@]}"
configure_and_build release iwarp_command
exec build/release/apps/iwarp lab "$@"
