// SPDX-License-Identifier: Apache-2.0
// Steps that the tables of cases about DDP and RDMAP share: where a case begins, messages that need
// more than one segment, and verdicts that are stricter or wider than Script's.
#pragma once

#include <functional>

#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform {

using Faults = std::initializer_list<bytes::Fault>;

/// Full operation, and it is our turn to speak: no Send of ours has left yet.
void begin(Script& script);

/// The Send of ours with MSN 1 was delivered, and the peer waits for the next one. The memory that
/// it had opened first.
PeerMemory after_first_send(Script& script);

/// `payload` as one untagged message whose segments have these `sizes` (together its size).
/// `between` runs behind each segment but the last.
void send_segments(Script& script, rdmap::Opcode opcode, bytes::View payload,
                   std::initializer_list<std::size_t> sizes,
                   const std::function<void()>& between = {});

/// The Read Request that a listening peer makes when it is shown `size` octets of our memory. It is
/// left to the case to answer: serve_memory() is off.
rdmap::ReadRequest await_read(Script& script, std::uint32_t size = kExchangeSize);

/// A Read of ours of `length` octets from `offset` of the peer's memory on.
rdmap::ReadRequest read_of(const PeerMemory& memory, std::uint64_t offset, std::uint32_t length);

/// As expect_terminate(), and the peer says nothing else before.
ReceivedTerminate expect_terminate_next(Script& script, Faults any_of);

/// What was sent is not delivered: the peer terminates with one of these, or waits for the rest.
void expect_undelivered(Script& script, Faults any_of);

/// The connection ends, and no Terminate comes.
void expect_end_without_terminate(Script& script);

}  // namespace iwarp::apps::conform
