// SPDX-License-Identifier: Apache-2.0
// LibraryHooks: the last hooks of a chain. They call the library's own functions. They also set the
// function pointers through which programs call, so that each call enters the chain.
#pragma once

#include <memory>

#include "hooks.hpp"

namespace iwarp::rdma_core {

std::unique_ptr<Hooks> make_library_hooks();

}  // namespace iwarp::rdma_core
