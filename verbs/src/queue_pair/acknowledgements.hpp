// SPDX-License-Identifier: Apache-2.0
// Counts how far the peer has acknowledged a send queue whose requests complete when the peer has
// placed them. The peer acknowledges by answering a Read or an atomic of the application, or an
// empty Read that is sent after other requests: all messages before it have then been placed and
// delivered [VRB-45]. While such an empty Read is in flight, the next one is sent only after many
// more octets, so that it covers many requests. See rfc-notes/decisions/0023.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "iwarp/rdmap/ulp.hpp"

namespace iwarp::verbs {

struct Acknowledgements {
  /// The cookie of empty Reads; larger than any sequence number.
  static constexpr std::uint64_t kCookie = (std::uint64_t{1} << 62) - 1;

  /// The largest number of empty Reads in flight, and the number of octets after one that trigger
  /// the next: large Writes in flight are acknowledged in parts, so that the sender does not stall.
  static constexpr std::size_t kMost = 4;
  static constexpr std::uint64_t kOctets = 128 * 1024;

  struct Own {
    std::uint64_t covers = 0;  ///< sequence just after the last request that it covers
    std::uint32_t msn = 0;     ///< its MSN, counted with Reads and atomics
  };

  bool is_on = false;
  std::array<Own, kMost> own{};  ///< empty Reads in flight: the first `under_way`
  std::size_t under_way = 0;
  std::size_t most = 1;      ///< largest number of empty Reads in flight
  std::uint64_t octets = 0;  ///< octets sent after the last empty Read
  // Sequence numbers, each just after the last request that it includes.
  std::uint64_t wanted = 0;        ///< requests that need an acknowledgement
  std::uint64_t covered = 0;       ///< requests that Reads in flight cover
  std::uint64_t acknowledged = 0;  ///< requests that the peer has acknowledged
  std::uint64_t noted = 0;         ///< started requests that the fields below include
  std::uint64_t messages = 0;      ///< started requests that are messages
  std::uint64_t left = 0;          ///< requests that have been sent
  // The MSNs of the messages started last.
  std::uint32_t last_msn = 0;      ///< MSN of Sends and Immediates
  std::uint32_t last_request = 0;  ///< MSN of Reads and atomics; also counted if is_on is false

  /// Returns whether an empty Read is to be sent.
  bool is_due() const {
    return wanted > covered && (under_way == 0 || (under_way < most && octets >= kOctets));
  }

  /// Starts an empty Read that covers every request before `sequence`.
  void start(std::uint64_t sequence, rdmap::Request& out) {
    own[under_way++] = {.covers = sequence, .msn = ++last_request};
    covered = sequence;
    octets = 0;
    fill(out);
  }
  /// Removes the oldest empty Read, which the peer has answered. Returns the sequence up to which
  /// it covers requests.
  std::uint64_t answered() {
    const auto covers = own.front().covers;
    std::ranges::rotate(own, own.begin() + 1);
    --under_way;
    return covers;
  }

  /// Makes an empty Read, which peers answer without a check of its STag and TO. [RDMAP-40]
  /// [RDMAP-41] Its STag is 1, because some hardware refuses STag 0 even then.
  static void fill(rdmap::Request& out) {
    out.opcode = rdmap::Opcode::kReadRequest;
    out.length = 0;
    out.payload.clear();
    out.stag = out.sink_stag = rdmap::Stag{1};
    out.to = out.sink_to = {};
    out.sink = {};
    out.cookie = kCookie;
  }
};

}  // namespace iwarp::verbs
