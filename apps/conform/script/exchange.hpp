// SPDX-License-Identifier: Apache-2.0
// The protocol of rdma-core's rping, played by a conformance case on either side:
//   client: Send {TO, STag, length} of its source;  server: RDMA Read of it, Send "go on";
//   client: Send {TO, STag, length} of its sink;    server: RDMA Write into it, Send "go on".
// A listening peer is the server and reveals an STag as the sink of its Read Request; a connecting
// peer is the client and advertises one. That is enough to test Reads and Writes.
#pragma once

#include <functional>

#include "conform/script/script.hpp"

namespace iwarp::apps::conform {

/// Memory of the peer that is open to us for Reads and Writes.
struct PeerMemory {
  std::uint32_t stag = 0;
  std::uint64_t to = 0;
  std::uint32_t length = 0;
};

/// The number of octets that an exchange moves.
inline constexpr std::uint32_t kExchangeSize = 64;

/// Runs the first half of the exchange: the peer reveals its memory and waits for our next Send.
/// Throws Failed if the peer does not cooperate.
PeerMemory learn_memory(Script& script, std::uint32_t size = kExchangeSize);

/// Puts a text of `size` octets, including its NUL, at the beginning of Script::memory().
void show_text(Script& script, std::uint32_t size);

/// Returns the 16 octets that advertise `size` octets of Script::memory() from `offset` to the
/// peer.
Octets advert_of(std::uint64_t offset, std::uint32_t size);

/// Sends the 16 octets of an advert in the way that a case tests.
using Sender = std::function<void(bytes::View advert)>;

/// Runs and checks the second half: the peer must Write (or have sent) the expected text. Proves
/// that the stream is alive and that nothing was lost or repeated. `sender`, if given, sends the
/// adverts.
void finish_exchange(Script& script, const PeerMemory& memory, const Sender& sender = {});

/// Runs both halves, which shows that the peer works.
void exchange(Script& script, std::uint32_t size = kExchangeSize);

/// Reads the peer's memory with an RDMA Read.
Octets read_peer(Script& script, const PeerMemory& memory, std::uint32_t offset,
                 std::uint32_t length);

}  // namespace iwarp::apps::conform
