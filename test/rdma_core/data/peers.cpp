// SPDX-License-Identifier: Apache-2.0
// Which request is taken for that of the peer. Requests are written by hand here, octet by octet:
// their senders lie, come from elsewhere, or come in thousands.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bring_up.hpp"

namespace {

using namespace data;

/// What a request claims.
struct Claim {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t sq_psn = kPsn;
  std::uint32_t rq_psn = kPsn;
};

void append(std::string& out, std::uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(word >> shift));
}

/// An MPA Request of revision 1 with CRC (RFC 5044 section 7.1.1).
std::string request(const Claim& claim) {
  std::string data = "iwarpoob";
  for (const auto word : {claim.from, claim.to, claim.sq_psn, claim.rq_psn}) append(data, word);
  std::string out = "MPA ID Req Frame";
  out += {0x40, 0x01, 0, static_cast<char>(data.size())};
  return out + data;
}

/// Sends a request to the port that a number names.
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

  Stranger& say(const Claim& claim) {
    const std::string octets = request(claim);
    REQUIRE_EQ(::send(fd_, octets.data(), octets.size(), MSG_NOSIGNAL), octets.size());
    return *this;
  }
  /// True: it was answered with octets; false: it was sent away.
  bool is_answered() const {
    REQUIRE(readable(fd_, kLimit));
    char octet = 0;
    return ::recv(fd_, &octet, 1, 0) == 1;
  }
  bool is_silent() const { return !readable(fd_); }

 private:
  int fd_;
};

TEST_CASE("only who knows both numbers and both PSNs, at the peer's address, is the peer") {
  End a;
  End b;
  make_ready_to_receive(a, b.qp);
  const Claim right{.from = b.qp->qp_num, .to = a.qp->qp_num};
  Claim other_sender = right;
  other_sender.from += 1 << 16;
  Claim other_psn = right;
  other_psn.sq_psn += 1;
  Claim wide_psn = right;
  wide_psn.sq_psn |= 1 << 24;
  Claim nobody = right;
  nobody.to += 200 << 16;
  Claim other_port = right;
  other_port.to ^= 1;
  Claim too_large = right;
  too_large.to |= 1U << 31;
  for (const Claim& lie : {other_sender, other_psn, wide_psn, nobody, other_port, too_large}) {
    CHECK_FALSE(Stranger(a.qp->qp_num).say(lie).is_answered());
  }
  CHECK_FALSE(Stranger(a.qp->qp_num, "127.0.0.2").say(right).is_answered());
  // A peer that is there all the same comes to its right.
  make_ready_to_receive(b, a.qp);
  make_ready_to_send(b, a.qp);
  read_from(b, a);
}

TEST_CASE("from RTS on the other PSN counts, too") {
  End a;
  const Claim peer{.from = a.qp->qp_num + (1 << 16), .to = a.qp->qp_num, .rq_psn = 5};
  ibv_qp absent{};
  absent.qp_num = peer.from;
  make_ready_to_receive(a, &absent);
  {
    End b;  // gone before anybody connects to it
    make_ready_to_receive(b, a.qp);
  }
  REQUIRE_EQ(modify(a, &absent, IBV_QPS_RTS, kRts, 6), 0);
  CHECK_FALSE(Stranger(a.qp->qp_num).say(peer).is_answered());
}

TEST_CASE("a peer with other PSNs stays alone, and with the right ones it is heard") {
  End a;
  End b;
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    // Both connect, and neither takes the other's request.
    make_ready_to_receive(a, b.qp, 1);
    make_ready_to_receive(b, a.qp, 2);
    make_ready_to_send(a, b.qp, 1);
    make_ready_to_send(b, a.qp, 2);
    // An old request may be about still; the numbers are the same.
    REQUIRE_EQ(b.modify(IBV_QPS_RESET), 0);
    make_ready_to_receive(b, a.qp, 1);
    make_ready_to_send(b, a.qp, 1);
    read_from(a, b);
    read_from(b, a);
    REQUIRE_EQ(a.modify(IBV_QPS_RESET), 0);
    REQUIRE_EQ(b.modify(IBV_QPS_RESET), 0);
  }
}

TEST_CASE("PSNs have 24 bits") {
  End a;
  End b;
  make_ready_to_receive(a, b.qp, 0xFF000001);
  make_ready_to_receive(b, a.qp, 1);
  make_ready_to_send(a, b.qp, 1);
  make_ready_to_send(b, a.qp, 0xAB000001);
  read_from(a, b);
}

TEST_CASE("requests for queue pairs that nobody has are sent away, however many come") {
  End a;
  End b;
  make_ready_to_receive(a, b.qp);
  End gone;
  const std::uint32_t was = gone.qp->qp_num;
  renew(gone);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const std::uint32_t nobody = i % 2 == 0 ? was : (256 + i) << 16 | (was & 0xFFFF);
    CHECK_FALSE(Stranger(was).say({.from = i, .to = nobody}).is_answered());
  }
  make_ready_to_send(a, b.qp);
  make_ready_to_receive(b, a.qp);
  read_from(a, b);
}

TEST_CASE("of requests for a queue pair that is not ready the latest 256 wait") {
  constexpr std::size_t kWaiting = 256;
  constexpr std::size_t kMore = 100;
  End a;
  End b;
  End unready;
  make_ready_to_receive(a, b.qp);  // so the port listens
  const std::uint32_t to = unready.qp->qp_num;
  std::vector<Stranger> strangers;
  strangers.reserve(kWaiting + kMore);
  for (std::size_t i = 0; i < kWaiting + kMore; ++i) {
    strangers.emplace_back(to).say({.from = static_cast<std::uint32_t>(i), .to = to});
  }
  // Nobody is told anything but those that gave way; who waits in vain is sent away in the end.
  std::size_t sent_away = 0;
  while (sent_away < kMore) {
    sent_away = static_cast<std::size_t>(
        std::ranges::count_if(strangers, [](const Stranger& s) { return !s.is_silent(); }));
  }
  CHECK_EQ(sent_away, kMore);
  make_ready_to_receive(unready, b.qp);
  REQUIRE_EQ(unready.modify(IBV_QPS_RESET), 0);
  for (const Stranger& stranger : strangers) CHECK_FALSE(stranger.is_answered());
  make_ready_to_receive(b, a.qp);
  make_ready_to_send(a, b.qp);
  read_from(a, b);
}

}  // namespace
