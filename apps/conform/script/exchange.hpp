// SPDX-License-Identifier: Apache-2.0
// The protocol of rdma-core's rping, of which a conformance case plays either end:
//   client: Send {TO, STag, length} of its source;  server: RDMA Read of it, Send "go on";
//   client: Send {TO, STag, length} of its sink;    server: RDMA Write into it, Send "go on".
// A listening peer is the server: its Read Request names an STag of its memory as the sink. A
// connecting peer is the client and advertises an STag. In both roles the tester then knows memory
// of the peer that it can Read and Write.
#pragma once

#include <functional>

#include "conform/script/script.hpp"

namespace iwarp::apps::conform {

/// Memory that the peer has opened for our Reads and Writes.
struct PeerMemory {
  std::uint32_t stag = 0;
  std::uint64_t to = 0;
  std::uint32_t length = 0;
};

/// Number of octets that one exchange transfers.
inline constexpr std::uint32_t kExchangeSize = 64;

/// Runs the first half of the exchange: the peer names its memory and then waits for our next Send.
/// Throws Failed if the peer does not cooperate.
PeerMemory learn_memory(Script& script, std::uint32_t size = kExchangeSize);

/// Writes a text of `size` octets, including its NUL, to the beginning of Script::memory().
void show_text(Script& script, std::uint32_t size);

/// Returns the 16 octets that advertise `size` octets of Script::memory() from `offset` to the
/// peer.
Octets advert_of(std::uint64_t offset, std::uint32_t size);

/// Sends the 16 octets of an advert, in a way that the case tests.
using Sender = std::function<void(bytes::View advert)>;

/// Runs the second half of the exchange and checks it: the peer must Write the expected text, or
/// must have sent it. This shows that the stream works and that nothing was lost or repeated. If
/// `sender` is given, it sends the adverts.
void finish_exchange(Script& script, const PeerMemory& memory, const Sender& sender = {});

/// Runs both halves of the exchange, which shows that the peer works.
void exchange(Script& script, std::uint32_t size = kExchangeSize);

/// Reads `length` octets at `offset` of the peer's memory with an RDMA Read, and returns them.
Octets read_peer(Script& script, const PeerMemory& memory, std::uint32_t offset,
                 std::uint32_t length);

}  // namespace iwarp::apps::conform
