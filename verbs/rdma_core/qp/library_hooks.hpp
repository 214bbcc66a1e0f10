// SPDX-License-Identifier: Apache-2.0
// The last hooks of a chain: the library's own functions. They also set the pointers through which
// programs call, so that calls enter the chain.
#pragma once

#include <memory>

#include "hooks.hpp"

namespace iwarp::rdma_core {

std::unique_ptr<Hooks> make_library_hooks();

}  // namespace iwarp::rdma_core
