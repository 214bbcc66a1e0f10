// SPDX-License-Identifier: Apache-2.0
// The protocol of rdma-core's rping, played by a conformance case on either side:
//   client: Send {TO, STag, length} of its source;  server: RDMA Read of it, Send "go on";
//   client: Send {TO, STag, length} of its sink;    server: RDMA Write into it, Send "go on".
// A peer that listens is the server and shows an STag of its own as the sink of its Read Request; a
// peer that connects is the client and advertises one. That is enough to test Reads and Writes.
#pragma once

#include <functional>

#include "conform/script/script.hpp"

namespace iwarp::apps::conform {

/// Memory of the peer that it has opened to us for Reads and Writes.
struct PeerMemory {
  std::uint32_t stag = 0;
  std::uint64_t to = 0;
  std::uint32_t length = 0;
};

/// How many octets a exchange moves.
inline constexpr std::uint32_t kExchangeSize = 64;

/// The first half of the exchange: the peer has shown its memory and waits for our next Send.
/// Failed: the peer did not play.
PeerMemory learn_memory(Script& script, std::uint32_t size = kExchangeSize);

/// A text of `size` octets, with its NUL, at the beginning of Script::memory().
void show_text(Script& script, std::uint32_t size);

/// The 16 octets that open `size` octets of Script::memory() from `offset` on to the peer.
Octets advert_of(std::uint64_t offset, std::uint32_t size);

/// How a case sends the 16 octets of an advert.
using Sender = std::function<void(bytes::View advert)>;

/// The second half, checked: what the peer Writes (or has sent) is what was there. Proves that the
/// stream is still alive and that nothing was lost or repeated. With a `sender`, its Sends go out
/// the way the case wants to see understood.
void finish_exchange(Script& script, const PeerMemory& memory, const Sender& sender = {});

/// Both halves: the peer works.
void exchange(Script& script, std::uint32_t size = kExchangeSize);

/// Reads the peer's memory with an RDMA Read of ours.
Octets read_peer(Script& script, const PeerMemory& memory, std::uint32_t offset,
                 std::uint32_t length);

}  // namespace iwarp::apps::conform
