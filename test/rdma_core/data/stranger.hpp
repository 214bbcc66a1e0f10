// SPDX-License-Identifier: Apache-2.0
// A peer of queue pairs without the CM. The test writes the Request of this peer octet by octet.
#pragma once

#include "../support/raw_client.hpp"
#include "bring_up.hpp"

namespace data {

/// The queue pair numbers and PSNs that a Request claims in its private data.
struct Claim {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t sq_psn = kPsn;
  std::uint32_t rq_psn = kPsn;
};

inline void append(std::string& out, std::uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(word >> shift));
}

enum class Rtr : std::uint8_t { kNone, kWrite };

/// Returns an MPA Request with CRC. Its revision is 1 (RFC 5044 section 7.1.1), or 2 if it asks for
/// an RTR (RFC 6581 section 9).
inline std::string request(const Claim& claim, Rtr rtr) {
  constexpr std::uint32_t kOneReadEachAndWrite = 0x8001'8001;
  std::string data;
  if (rtr == Rtr::kWrite) append(data, kOneReadEachAndWrite);
  data += "iwarpoob";
  for (const auto word : {claim.from, claim.to, claim.sq_psn, claim.rq_psn}) append(data, word);
  std::string out = "MPA ID Req Frame";
  out += rtr == Rtr::kWrite ? "\x50\x02" : "\x40\x01";
  out += {0, static_cast<char>(data.size())};
  return out + data;
}

/// Connects to the TCP port that belongs to a queue pair number, and sends requests.
struct Stranger : RawClient {
  explicit Stranger(std::uint32_t number, const char* from = "127.0.0.1")
      : RawClient(static_cast<std::uint16_t>(number), from) {}

  Stranger& say(const Claim& claim, Rtr rtr = Rtr::kNone) {
    send(request(claim, rtr));
    return *this;
  }
  /// Waits until the other end answers or closes the connection. Returns true if it answered.
  bool is_answered() const { return receive(1).size() == 1; }
  /// Half-closes the connection, and waits until the other end has also closed it.
  void close_in_order() const {
    half_close();
    while (is_answered()) continue;
  }
};

}  // namespace data
