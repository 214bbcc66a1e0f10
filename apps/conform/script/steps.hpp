// SPDX-License-Identifier: Apache-2.0
// Steps that the cases about DDP and RDMAP share: the start of a case, messages of several
// segments, and verdicts that are stricter or more lenient than Script's.
#pragma once

#include <functional>

#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform {

using Faults = std::initializer_list<bytes::Fault>;

/// Brings the connection into full operation, with our turn to send. No Send has been sent yet.
void begin(Script& script);

/// Delivers a Send with MSN 1, after which the peer waits for the next one. Returns the memory that
/// the peer opened first.
PeerMemory after_first_send(Script& script);

/// Sends `payload` as one untagged message whose segments have these `sizes` (which add up to its
/// size). Calls `between` after each segment but the last.
void send_segments(Script& script, rdmap::Opcode opcode, bytes::View payload,
                   std::initializer_list<std::size_t> sizes,
                   const std::function<void()>& between = {});

/// Advertises `size` octets of our memory to a listening peer and returns its Read Request. The
/// case must answer it: serve_memory() is off.
rdmap::ReadRequest await_read(Script& script, std::uint32_t size = kExchangeSize);

/// Returns a Read of `length` octets of the peer's memory from `offset`.
rdmap::ReadRequest read_of(const PeerMemory& memory, std::uint64_t offset, std::uint32_t length);

/// Does the same as expect_terminate(), but allows no message before the Terminate.
ReceivedTerminate expect_terminate_next(Script& script, Faults any_of);

/// Expects that the message is not delivered: the peer terminates with one of these, or waits for
/// the rest.
void expect_undelivered(Script& script, Faults any_of);

/// Expects the end of the connection without a Terminate.
void expect_end_without_terminate(Script& script);

}  // namespace iwarp::apps::conform
