// SPDX-License-Identifier: Apache-2.0
// The protocol of rdma-core's rping. In a conformance case the tester plays either end:
//   client: Sends {TO, STag, length} of its source;  server: RDMA Reads it, and Sends "go on";
//   client: Sends {TO, STag, length} of its sink;    server: RDMA Writes it, and Sends "go on".
// A peer that listens is the server: its Read Request names an STag of its own memory as the sink.
// A peer that connects is the client and advertises an STag. In both roles the tester learns an
// STag and TO of the peer, and can then Read and Write the peer's memory.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "conform/script/script.hpp"

namespace iwarp::apps::conform {

/// Memory of the peer that the tester may Read and Write.
struct PeerMemory {
  std::uint32_t stag = 0;
  std::uint64_t to = 0;
  std::uint32_t length = 0;
};

/// Number of octets that one rping exchange transfers in each direction.
inline constexpr std::uint32_t kExchangeSize = 64;

/// Runs the first half of an rping exchange and returns the memory whose STag and TO the peer has
/// sent. The peer then waits for the tester's next Send. Throws Failed if the peer does not
/// cooperate.
PeerMemory learn_memory(Script& script, std::uint32_t size = kExchangeSize);

/// Fills the beginning of Script::memory() with a text of `size` octets, including its NUL.
void show_text(Script& script, std::uint32_t size);

/// Returns a 16-octet advert of the tester's memory, for `size` octets from `offset` of
/// Script::memory().
Octets advert_of(std::uint64_t offset, std::uint32_t size);

/// Sends an advert of 16 octets. A case provides its own Sender if it tests a particular form of
/// Send, for example a Send in several segments.
using Sender = std::function<void(bytes::View advert)>;

/// Runs the second half of the exchange and checks the data. A listening peer must return the
/// octets that it has read, by RDMA Write. If the peer connects, the tester places octets in the
/// peer's memory by RDMA Write and reads them back by RDMA Read. This shows that the stream works
/// and that nothing was lost or repeated. If `sender` is given, it is called to send the adverts.
void finish_exchange(Script& script, const PeerMemory& memory, const Sender& sender = {});

/// Runs both halves of the exchange. This shows that the peer works.
void exchange(Script& script, std::uint32_t size = kExchangeSize);

/// Runs one exchange without any deviation, on a new connection. Returns nullopt if the peer serves
/// rping's exchange, even if it breaks a rule in it. Otherwise returns what the peer did instead.
/// Throws Unreachable if there is no connection.
std::optional<std::string> answered_instead(const Target& target);

/// Returns `length` octets at `offset` of the peer's memory. Reads them by RDMA Read.
Octets read_peer(Script& script, const PeerMemory& memory, std::uint32_t offset,
                 std::uint32_t length);

}  // namespace iwarp::apps::conform
