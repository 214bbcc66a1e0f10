// SPDX-License-Identifier: Apache-2.0
// create_other_end(): connects a queue pair to itself, as the drop-in libibverbs permits.
#pragma once

#include "iwarp/net/rnic.hpp"

namespace iwarp::net {

/// Makes the sending end of a connection from the queue pair `of` to `of` itself. The new queue
/// pair has the number, domain and queues of `of`. A request posted to the new queue pair completes
/// as if it had been posted to `of`. The new queue pair has no receives and grants the peer no
/// rights. Destroy it before `of`. Fails with `Errc::kLimitReached` or
/// std::errc::not_enough_memory. Thread-safe.
Expected<QpHandle> create_other_end(Rnic& rnic, const QueuePair& of);

}  // namespace iwarp::net
