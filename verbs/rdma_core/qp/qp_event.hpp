// SPDX-License-Identifier: Apache-2.0
// Decides which asynchronous event a program gets when the stream of a queue pair ends. Decision
// 0037 has the table in words, with the source of each row.
#pragma once

#include <infiniband/verbs.h>

#include <optional>

#include "iwarp/verbs/work_completion.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

/// Returns the type of the ibv_async_event for an event of a queue pair, or nullopt if the program
/// gets none. It gets none if TCP was lost, because the CM reports that. As RoCE, it also gets none
/// for a Terminate of the peer, because the completion of the refused request reports that, and
/// none if the completion of a receive reports the error.
std::optional<ibv_event_type> event_of(const verbs::AsyncEvent& event, Persona persona);

/// Returns whether a Send of the peer has waited too long for a receive. With InfiniBand, this is
/// an error only of the peer.
bool is_receiver_not_ready(const rdmap::Terminate& sent);

}  // namespace iwarp::rdma_core
