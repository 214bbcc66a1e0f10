// SPDX-License-Identifier: Apache-2.0
// Functions for both ordinary completion queues (ibv_create_cq()) and extended completion queues
// (ibv_create_cq_ex()).
#pragma once

#include "objects/objects.hpp"

namespace iwarp::rdma_core {

/// Creates a completion queue of at least `cqe` entries. Throws std::system_error if that fails.
Cq* create_cq(Context& context, std::uint32_t cqe, void* cq_context, ibv_comp_channel* channel,
              std::uint32_t comp_vector);
/// Call after each poll of a completion queue. If the recent polls of this thread have found no
/// completion, yields the processor as yield_policy.hpp describes.
void yield_after_poll(bool found);
/// Call after a poll if Cq::is_watched is set. Clears is_watched, and notifies the dispatcher
/// thread that waits for this poll.
void notify_watcher(Cq& cq);

}  // namespace iwarp::rdma_core
