// SPDX-License-Identifier: Apache-2.0
// LibraryHooks: the last element of the chain of Hooks. Its functions call the library's own
// implementations, such as post_send(). It also sets the function pointers of contexts, completion
// queues and queue pairs, so that each call of the program enters the chain at its first element.
#pragma once

#include <memory>

#include "hooks.hpp"

namespace iwarp::rdma_core {

std::unique_ptr<Hooks> make_library_hooks();

}  // namespace iwarp::rdma_core
