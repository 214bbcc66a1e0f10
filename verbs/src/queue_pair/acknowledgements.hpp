// SPDX-License-Identifier: Apache-2.0
// How far the peer has acknowledged a send queue, where requests complete when the peer has placed
// them: counts only. The peer acknowledges by answering a Read or an atomic of the program, or an
// empty Read that this class sends after the other requests: everything before it has then been
// placed and delivered [VRB-45]. While one of these empty Reads is in flight, the next one waits
// until much has been sent after it, so that it covers many requests. See rfc-notes/decisions/0023.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "iwarp/rdmap/ulp.hpp"

namespace iwarp::verbs {

struct Acknowledgements {
  /// Of our empty Reads; above every sequence.
  static constexpr std::uint64_t kCookie = (std::uint64_t{1} << 62) - 1;

  /// The maximum of empty Reads in flight, and the octets sent after one that trigger the next: a
  /// window of large Writes is acknowledged in parts, so that it never stalls.
  static constexpr std::size_t kMost = 4;
  static constexpr std::uint64_t kOctets = 128 * 1024;

  struct Own {
    std::uint64_t covers = 0;  ///< sequence
    std::uint32_t msn = 0;     ///< among Reads and atomics
  };

  bool is_on = false;
  std::array<Own, kMost> own{};  ///< our empty Reads; the first `under_way`, in order
  std::size_t under_way = 0;
  std::size_t most = 1;      ///< the maximum in flight at a time
  std::uint64_t octets = 0;  ///< sent after the last empty Read
  // Sequences, each one past the last request that it is about.
  std::uint64_t wanted = 0;        ///< to be acknowledged
  std::uint64_t covered = 0;       ///< covered by Reads in flight
  std::uint64_t acknowledged = 0;  ///< acknowledged
  std::uint64_t noted = 0;         ///< started, and counted here
  std::uint64_t messages = 0;      ///< started, and a message
  std::uint64_t left = 0;          ///< sent
  // The MSNs started last.
  std::uint32_t last_msn = 0;      ///< Sends and Immediates
  std::uint32_t last_request = 0;  ///< Reads and atomics; counted without acknowledgements, too

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
  /// The oldest empty Read is answered. Returns the sequence that it covers.
  std::uint64_t answered() {
    const auto covers = own.front().covers;
    std::ranges::rotate(own, own.begin() + 1);
    --under_way;
    return covers;
  }

  /// An empty Read is answered without a check of its STag and TO. [RDMAP-40] [RDMAP-41] STag 1,
  /// because some hardware refuses 0 even then.
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
