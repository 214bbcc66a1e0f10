// SPDX-License-Identifier: Apache-2.0
// What the two kinds of completion queue share: ibv_create_cq() and ibv_create_cq_ex().
#pragma once

#include "objects/objects.hpp"

namespace iwarp::rdma_core {

/// Throws std::system_error.
Cq* create_cq(Context& context, std::uint32_t cqe, void* cq_context, ibv_comp_channel* channel,
              std::uint32_t comp_vector);
/// After each poll: who finds nothing time and again yields the processor, see yield_policy.hpp.
void yield_after_poll(bool found);
/// Behind a poll, if Cq::is_watched.
void tell_watcher(Cq& cq);

}  // namespace iwarp::rdma_core
