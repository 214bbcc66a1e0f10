// SPDX-License-Identifier: Apache-2.0
// Steps that several cases about DDP and RDMAP use. Some begin a case, and some send messages in
// several segments. Others check results; these checks are stricter or more lenient than those of
// Script.
#pragma once

#include <functional>

#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform {

using Faults = std::initializer_list<bytes::Fault>;

/// Brings the connection into full operation. Returns when it is the tester's turn to send; the
/// tester has not yet sent a Send.
void begin(Script& script);

/// Sends a Send with MSN 1, which the peer delivers. The peer then waits for the next Send. Returns
/// the memory to which the peer has given access.
PeerMemory after_first_send(Script& script);

/// Sends `payload` as one untagged message in several segments. `sizes` has the size of each
/// segment; their sum must be the size of `payload`. Calls `between` after each segment except the
/// last.
void send_segments(Script& script, rdmap::Opcode opcode, bytes::View payload,
                   std::initializer_list<std::size_t> sizes,
                   const std::function<void()>& between = {});

/// Advertises `size` octets of the tester's memory to a listening peer, and returns the peer's Read
/// Request. Calls serve_memory(false), so the case must answer the request itself.
rdmap::ReadRequest await_read(Script& script, std::uint32_t size = kExchangeSize);

/// Returns a Read Request for `length` octets, at `offset` of the peer's memory.
rdmap::ReadRequest read_of(const PeerMemory& memory, std::uint64_t offset, std::uint32_t length);

/// Same as expect_terminate(), but permits no message before the Terminate.
ReceivedTerminate expect_terminate_next(Script& script, Faults any_of);

/// Expects that the peer does not deliver the message: the peer must either send a Terminate with
/// one of these faults or wait for missing segments.
void expect_undelivered(Script& script, Faults any_of);

/// Expects the connection to end without a Terminate from the peer.
void expect_end_without_terminate(Script& script);

}  // namespace iwarp::apps::conform
