// SPDX-License-Identifier: Apache-2.0
// The settings of this process, as the presence library reads them.
#pragma once

#include <cstdlib>

#include "process/settings.hpp"

namespace iwarp::rdma_core::presence {

/// Reads the settings from the environment. Ignores invalid values, which the drop-in libraries
/// report.
inline Settings own_settings() {
  return read_settings([](const char* name) { return ::secure_getenv(name); }, [](const auto&) {});
}

}  // namespace iwarp::rdma_core::presence
