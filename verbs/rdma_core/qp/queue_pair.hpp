// SPDX-License-Identifier: Apache-2.0
// What the files about queue pairs share.
#pragma once

#include "objects/objects.hpp"

namespace iwarp::rdma_core {

/// What the builders of qp/builders.cpp need; called once, while the queue pair is made.
void enable_builders(Qp& qp);
/// Posts all or none; post.cpp.
int post_all(Qp& qp, std::span<const verbs::SendWr> wrs);
/// IBV_EVENT_QP_LAST_WQE_REACHED, once, if the queue pair is in error and has a shared receive
/// queue: it takes no receive from there any more.
void tell_last_wqe(Qp& qp);
void push_event(Qp& qp, ibv_event_type type);
/// To the error state, as by ibv_modify_qp(); qp/states.cpp.
int to_error(Qp& qp);

}  // namespace iwarp::rdma_core
