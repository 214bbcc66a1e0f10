// SPDX-License-Identifier: Apache-2.0
// Probes for the cases about FPDUs, markers and tagged buffers: Writes into the peer's memory,
// checks of their effect, and the segments of long messages from the peer.
#pragma once

#include <string>
#include <vector>

#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform {

/// Returns the ULPDU of a Write of `payload` in one segment, to `offset` from the start of the
/// peer's memory.
Octets write_ulpdu(const PeerMemory& memory, std::uint64_t offset, bytes::View payload);
/// Sends the Write that write_ulpdu() returns.
void write(Script& script, const PeerMemory& memory, std::uint64_t offset, bytes::View payload);

/// Reads back the peer's memory and expects `wanted` at `offset`. This shows that the peer accepted
/// everything sent before.
void expect_memory(Script& script, const PeerMemory& memory, bytes::View wanted,
                   std::uint32_t offset = 0);
/// Reads one octet and expects the response, which shows that the stream works.
void expect_answer(Script& script, const PeerMemory& memory);
/// Opens a new connection and expects it to work, which shows that the peer has survived.
void expect_survivor(Script& script);

/// Sends the octets in TCP segments of `size` octets, with a pause after each.
void send_in_pieces(Script& script, bytes::View octets, std::size_t size);
void pause();

/// Returns the ULPDU of a zero-length Read Request, which the case sends itself.
Octets empty_read_ulpdu(Script& script);

/// Does the same as learn_memory(), but throws Skipped if the peer opens less than `size` octets.
PeerMemory learn_or_skip(Script& script, std::uint32_t size);

/// Opens a new connection and returns the segments of one long tagged message that the peer sends:
/// an RDMA Write or a Read Response of at least `size` octets.
std::vector<Segment> receive_long_message(Script& script, const Setup& setup, std::uint32_t size);

/// Throws Failed with `expected` and `came` unless `condition` holds.
void require(bool condition, std::string expected, std::string came);

}  // namespace iwarp::apps::conform
