// SPDX-License-Identifier: Apache-2.0
// A peer of queue pairs without the CM. The test writes the Request of this peer octet by octet.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

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
class Stranger {
 public:
  explicit Stranger(std::uint32_t number, const char* from = "127.0.0.1")
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    REQUIRE(fd_ >= 0);
    sockaddr_in at{.sin_family = AF_INET};
    REQUIRE_EQ(inet_pton(AF_INET, from, &at.sin_addr), 1);
    REQUIRE_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    REQUIRE_EQ(inet_pton(AF_INET, "127.0.0.1", &at.sin_addr), 1);
    at.sin_port = htons(static_cast<std::uint16_t>(number));
    REQUIRE_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  }
  Stranger(Stranger&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() {
    if (fd_ >= 0) ::close(fd_);
  }

  Stranger& say(const Claim& claim, Rtr rtr = Rtr::kNone) {
    const std::string octets = request(claim, rtr);
    REQUIRE_EQ(::send(fd_, octets.data(), octets.size(), MSG_NOSIGNAL), octets.size());
    return *this;
  }
  /// Waits until the other end answers or closes the connection. Returns true if it answered.
  bool is_answered() const {
    REQUIRE(readable(fd_, kLimit));
    char octet = 0;
    return ::recv(fd_, &octet, 1, 0) == 1;
  }
  bool is_silent() const { return !readable(fd_); }
  /// Half-closes the connection, and waits until the other end has also closed it.
  void close_in_order() const {
    REQUIRE_EQ(::shutdown(fd_, SHUT_WR), 0);
    char octet = 0;
    while (::recv(fd_, &octet, 1, 0) == 1) continue;
  }
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    REQUIRE_EQ(::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    REQUIRE_EQ(::close(std::exchange(fd_, -1)), 0);
  }

 private:
  int fd_;
};

}  // namespace data
