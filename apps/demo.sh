#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 or Ubuntu 24.04 to a running demonstration: installs the packages that are
# missing, configures, builds, and runs `iwarp demo` with the arguments given here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source apps/setup.sh

install_packages "${build_packages[@]}"
configure_and_build release --target iwarp
exec build/release/apps/iwarp demo "$@"
