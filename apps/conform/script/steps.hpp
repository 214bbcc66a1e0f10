// SPDX-License-Identifier: Apache-2.0
// Steps that several cases about DDP and RDMAP use: they begin a case, send messages in several
// segments, and expect results that are stricter or more lenient than Script's.
#pragma once

#include <functional>

#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform {

using Faults = std::initializer_list<bytes::Fault>;

/// Brings the connection into full operation, in a state in which we send next. We have not sent a
/// Send yet.
void begin(Script& script);

/// Sends a Send with MSN 1, which the peer delivers, and lets the peer wait for the next one.
/// Returns the memory that the peer opened before.
PeerMemory after_first_send(Script& script);

/// Sends `payload` as one untagged message whose segments have these `sizes`, which must add up to
/// the size of `payload`. Calls `between` after each segment except the last.
void send_segments(Script& script, rdmap::Opcode opcode, bytes::View payload,
                   std::initializer_list<std::size_t> sizes,
                   const std::function<void()>& between = {});

/// Advertises `size` octets of our memory to a listening peer and returns its Read Request.
/// Switches serve_memory() off, so the case must answer the request itself.
rdmap::ReadRequest await_read(Script& script, std::uint32_t size = kExchangeSize);

/// Returns a Read Request for `length` octets at `offset` of the peer's memory.
rdmap::ReadRequest read_of(const PeerMemory& memory, std::uint64_t offset, std::uint32_t length);

/// Does the same as expect_terminate(), but allows no message before the Terminate.
ReceivedTerminate expect_terminate_next(Script& script, Faults any_of);

/// Expects that the peer does not deliver the message: it sends one of these Terminates, or waits
/// for missing segments.
void expect_undelivered(Script& script, Faults any_of);

/// Expects the connection to end without a Terminate from the peer.
void expect_end_without_terminate(Script& script);

}  // namespace iwarp::apps::conform
