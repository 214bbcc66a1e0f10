// SPDX-License-Identifier: Apache-2.0
// Functions that are shared by the completion queues of ibv_create_cq() and of ibv_create_cq_ex().
#pragma once

#include "objects/objects.hpp"

namespace iwarp::rdma_core {

/// Creates a completion queue of at least `cqe` entries. Throws std::system_error if it cannot.
Cq* create_cq(Context& context, std::uint32_t cqe, void* cq_context, ibv_comp_channel* channel,
              std::uint32_t comp_vector);
/// Call after each poll. Yields the processor if the thread's polls keep finding nothing, see
/// yield_policy.hpp.
void yield_after_poll(bool found);
/// Call after a poll if Cq::is_watched. Notifies the service that waits for the poll.
void tell_watcher(Cq& cq);

}  // namespace iwarp::rdma_core
