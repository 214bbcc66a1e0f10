// SPDX-License-Identifier: Apache-2.0
// Acknowledgements: how far the peer has acknowledged a send queue whose requests complete when the
// peer has placed them. The peer acknowledges requests when it answers a later Read or atomic of
// the application, or an empty Read that this end sends after the requests. The peer answers only
// after it has placed and delivered all earlier messages [VRB-45]. While an empty Read is in
// flight, the next one is sent only after many more octets, so that it covers many requests. See
// rfc-notes/decisions/0023.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "iwarp/rdmap/ulp.hpp"

namespace iwarp::verbs {

struct Acknowledgements {
  /// The cookie of empty Reads; larger than any sequence number.
  static constexpr std::uint64_t kCookie = (std::uint64_t{1} << 62) - 1;

  /// kMost is the maximum number of empty Reads in flight. While an empty Read is in flight, the
  /// next one starts only after kOctets more octets. So the peer acknowledges large Writes in
  /// parts, and the sender does not stall.
  static constexpr std::size_t kMost = 4;
  static constexpr std::uint64_t kOctets = 128 * 1024;

  struct Own {
    std::uint64_t covers = 0;  ///< sequence number just after the last request that the Read covers
    /// MSN of the Read; Reads and atomics of the application use the same series
    std::uint32_t msn = 0;
  };

  bool is_on = false;
  std::array<Own, kMost> own{};  ///< the first `under_way` elements are the empty Reads in flight
  std::size_t under_way = 0;
  std::size_t most = 1;      ///< maximum number of empty Reads in flight
  std::uint64_t octets = 0;  ///< number of octets sent after the last empty Read
  // The next members are sequence numbers, each just after the last request that it includes.
  std::uint64_t wanted = 0;        ///< end of the requests that need an acknowledgement
  std::uint64_t covered = 0;       ///< end of the requests that empty Reads cover
  std::uint64_t acknowledged = 0;  ///< end of the requests that the peer has acknowledged
  std::uint64_t noted = 0;         ///< end of the started requests that note_started() has seen
  std::uint64_t messages = 0;      ///< end of the last started request that is not local
  std::uint64_t left = 0;          ///< end of the requests that have been sent
  // The next members are MSNs of the messages that were started last.
  std::uint32_t last_msn = 0;  ///< MSN of the last Send or Immediate
  /// MSN of the last Read or atomic; also counted if is_on is false
  std::uint32_t last_request = 0;

  /// Returns whether an empty Read has to be sent.
  bool is_due() const {
    return wanted > covered && (under_way == 0 || (under_way < most && octets >= kOctets));
  }

  /// Starts an empty Read that covers every request before `sequence`.
  void start(std::uint64_t sequence, rdmap::Request& out) {
    own[under_way++] = {.covers = sequence, .msn = ++last_request};
    covered = sequence;
    octets = 0;
    // Peers answer an empty Read without a check of its STag and TO. [RDMAP-40] [RDMAP-41] The STag
    // is 1, because some hardware refuses STag 0 even in an empty Read.
    out.opcode = rdmap::Opcode::kReadRequest;
    out.length = 0;
    out.payload.clear();
    out.stag = out.sink_stag = rdmap::Stag{1};
    out.to = out.sink_to = {};
    out.sink = {};
    out.cookie = kCookie;
  }
  /// Removes the oldest empty Read, which the peer has answered. Returns the sequence number just
  /// after the last request that the answer acknowledges.
  std::uint64_t answered() {
    const auto covers = own.front().covers;
    std::ranges::rotate(own, own.begin() + 1);
    --under_way;
    return covers;
  }
};

}  // namespace iwarp::verbs
