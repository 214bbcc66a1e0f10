// SPDX-License-Identifier: Apache-2.0
// How far the peer has acknowledged a send queue, where requests complete when the peer has placed
// them: counts only. The peer acknowledges by answering a Read or an atomic of the program's, or an
// empty Read of ours behind the other requests: all in front of it has then been placed and
// delivered [VRB-45]. While a Read of ours is under way the next one waits until much has been sent
// behind it, so that it covers many requests. See rfc-notes/decisions/0023.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "iwarp/rdmap/ulp.hpp"

namespace iwarp::verbs {

struct Acknowledgements {
  /// Of our own Reads, above every sequence.
  static constexpr std::uint64_t kCookie = (std::uint64_t{1} << 62) - 1;

  /// Reads of ours under way at most, and the octets behind one that ask for the next: a window of
  /// large Writes is acknowledged in parts, so that it never comes to a stop.
  static constexpr std::size_t kMost = 4;
  static constexpr std::uint64_t kOctets = 128 * 1024;

  struct Own {
    std::uint64_t covers = 0;  ///< sequence
    std::uint32_t msn = 0;     ///< among Reads and atomics
  };

  bool is_on = false;
  std::array<Own, kMost> own{};  ///< the first `under_way`, in order
  std::size_t under_way = 0;
  std::size_t most = 1;      ///< of them at a time
  std::uint64_t octets = 0;  ///< behind the last Read
  // Sequences, each behind the last request it is about.
  std::uint64_t wanted = 0;        ///< has to be acknowledged
  std::uint64_t covered = 0;       ///< will be, by what is under way
  std::uint64_t acknowledged = 0;  ///< is
  std::uint64_t noted = 0;         ///< was started, and counted here
  std::uint64_t messages = 0;      ///< was started and is a message
  std::uint64_t left = 0;          ///< has left
  // MSNs of what was started last.
  std::uint32_t last_msn = 0;      ///< Sends and Immediates
  std::uint32_t last_request = 0;  ///< Reads and atomics; counted without acknowledgements, too

  /// A Read of ours is to be sent.
  bool is_due() const {
    return wanted > covered && (under_way == 0 || (under_way < most && octets >= kOctets));
  }

  /// One that covers all in front of `sequence`.
  void start(std::uint64_t sequence, rdmap::Request& out) {
    own[under_way++] = {.covers = sequence, .msn = ++last_request};
    covered = sequence;
    octets = 0;
    fill(out);
  }
  /// The oldest of them is answered: what it covers.
  std::uint64_t answered() {
    const auto covers = own.front().covers;
    std::ranges::rotate(own, own.begin() + 1);
    --under_way;
    return covers;
  }

  /// A Read of nothing is answered without a look at its STag and TO. [RDMAP-40] [RDMAP-41]
  /// STag 1, because some hardware refuses 0 even then.
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
