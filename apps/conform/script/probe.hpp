// SPDX-License-Identifier: Apache-2.0
// Steps for the cases about FPDUs, markers and tagged buffers: they write the peer's memory, check
// the effect, and receive the segments of long messages from the peer.
#pragma once

#include <string>
#include <vector>

#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform {

/// Returns the ULPDU of a single-segment Write of `payload`, to `offset` from the start of the
/// peer's memory.
Octets write_ulpdu(const PeerMemory& memory, std::uint64_t offset, bytes::View payload);
/// Sends the FPDU of a Write, with the ULPDU that write_ulpdu() returns.
void write(Script& script, const PeerMemory& memory, std::uint64_t offset, bytes::View payload);

/// Reads the peer's memory back and expects `wanted` at `offset`. This shows that the peer accepted
/// everything that the tester sent before this Read.
void expect_memory(Script& script, const PeerMemory& memory, bytes::View wanted,
                   std::uint32_t offset = 0);
/// Reads one octet of the peer's memory and expects the response, which shows that the stream
/// works.
void expect_answer(Script& script, const PeerMemory& memory);
/// Opens a new connection and expects it to work, which shows that the peer has survived.
void expect_survivor(Script& script);

/// Sends the octets in TCP segments of `size` octets, and pauses after each segment.
void send_in_pieces(Script& script, bytes::View octets, std::size_t size);
void pause();

/// Returns the ULPDU of a zero-length Read Request, without sending it.
Octets empty_read_ulpdu(Script& script);

/// Calls learn_memory(). Throws Skipped if the peer gives access to fewer than `size` octets.
PeerMemory learn_or_skip(Script& script, std::uint32_t size);

/// Opens a new connection, and makes the peer send one long tagged message: an RDMA Write or a Read
/// Response of at least `size` octets. Returns its segments.
std::vector<Segment> receive_long_message(Script& script, const Setup& setup, std::uint32_t size);

/// Throws Failed{expected, observed} if `condition` is false.
void require(bool condition, std::string expected, std::string observed);

}  // namespace iwarp::apps::conform
