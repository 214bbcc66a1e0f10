// SPDX-License-Identifier: Apache-2.0
// What InfiniBand's type UC needs of a queue pair: an error of a request stops only the send queue
// (state SQE), and an inbound message that cannot be placed is dropped. In both cases the
// connection goes on. The application starts the send queue again.
#pragma once

#include "iwarp/verbs/queue_pair.hpp"

namespace iwarp::verbs {

/// From the next connection on, a request that fails before any octet of it is sent only stops the
/// send queue: the request completes with its status, and all requests behind it complete with
/// WcStatus::kWrFlush until resume_sends(). The receive side goes on.
/// A Write of the peer that may not access its target is dropped, with the Immediate that follows
/// it. A Send or Immediate for which no receive is posted waits for PeerTimeouts::receive_hold;
/// then it is dropped, and so are all messages after it until a receive is posted. The peer notices
/// nothing.
void make_unreliable(QueuePair& qp);
/// Returns whether a failed request has stopped the send queue. True as soon as the completion of
/// that request can be polled.
bool has_stopped_sends(QueuePair& qp);
/// Starts the send queue again. Requests that were posted before this call are flushed. Does
/// nothing if the send queue is not stopped.
void resume_sends(QueuePair& qp);

}  // namespace iwarp::verbs
