// SPDX-License-Identifier: Apache-2.0
// What InfiniBand's states SQD and RTR need of a queue pair: a send queue that does not start new
// requests, and a report of the first message. Thread-safe.
#pragma once

#include "iwarp/verbs/queue_pair.hpp"

namespace iwarp::verbs {

/// Requests that are posted from now on wait until release_sends(). If the connection ends before,
/// they are flushed. Requests that were posted before are executed; if `reports`,
/// AsyncEventType::kSendsDrained follows when none of them is outstanding any more.
void hold_sends(QueuePair& qp, bool reports);
/// Lets the requests that wait start.
void release_sends(QueuePair& qp);
/// Raises AsyncEventType::kFirstMessage once, when the peer's next segment has arrived.
void report_first_message(QueuePair& qp);

}  // namespace iwarp::verbs
