// SPDX-License-Identifier: Apache-2.0
// Probes: Writes into the peer's memory, ways to see what became of them, and the peer's long
// messages taken apart. For the tables of cases about FPDUs, markers and tagged buffers.
#pragma once

#include <string>
#include <vector>

#include "conform/script/exchange.hpp"

namespace iwarp::apps::conform {

/// A Write of `payload` in one segment, `offset` octets behind the start of the peer's memory.
Octets write_ulpdu(const PeerMemory& memory, std::uint64_t offset, bytes::View payload);
/// The same, sent.
void write(Script& script, const PeerMemory& memory, std::uint64_t offset, bytes::View payload);

/// The peer's memory, read back, holds `wanted` from `offset` on. Everything sent before was taken.
void expect_memory(Script& script, const PeerMemory& memory, bytes::View wanted,
                   std::uint32_t offset = 0);
/// The stream works: a Read of one octet is answered.
void expect_answer(Script& script, const PeerMemory& memory);
/// A new connection works.
void expect_survivor(Script& script);

/// The octets in TCP segments of `size` octets, with a pause between them.
void send_in_pieces(Script& script, bytes::View octets, std::size_t size);
void pause();

/// Read Request for no octets, sent by hand: its ULPDU.
Octets empty_read_ulpdu(Script& script);

/// learn_memory() for cases that need more memory than every peer opens: Skipped when it does not.
PeerMemory learn_or_skip(Script& script, std::uint32_t size);

/// The segments of one long tagged message of the peer: an RDMA Write or a Read Response of at
/// least `size` octets on a new connection.
std::vector<Segment> receive_long_message(Script& script, const Setup& setup, std::uint32_t size);

/// Failed with these two; for checks of a peer's octets.
void require(bool condition, std::string expected, std::string came);

}  // namespace iwarp::apps::conform
