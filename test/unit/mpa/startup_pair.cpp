// SPDX-License-Identifier: Apache-2.0
// Connects two ends by a seeded pipe that splits the stream at any octet. For every combination of
// options, both ends must agree on the result.
#include <random>

#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

class Pair {
 public:
  Pair(const StartupOptions& a, const StartupOptions& b, std::uint32_t seed)
      : initiator(Role::kInitiator, a), responder(Role::kResponder, b), random_(seed) {}

  /// Runs until neither end has anything to send. The responder's ULP accepts or rejects
  /// immediately.
  void run(bool accept = true) {
    responder.listen(kStart);
    REQUIRE(initiator.request(octets("to the responder"), kStart));
    while (!initiator.transmit().empty() || !responder.transmit().empty()) {
      move(initiator, responder);
      if (responder.state() == StartupState::kAwaitDecision) {
        REQUIRE((accept ? responder.accept(octets("to the initiator"), 6, 5)
                        : responder.reject(octets("to the initiator"))));
      }
      move(responder, initiator);
    }
  }

  Startup initiator;
  Startup responder;

 private:
  /// Moves part of the output of `from` to `to`, which must consume all of it as startup frames.
  void move(Startup& from, Startup& to) {
    const auto ready = from.transmit();
    if (ready.empty()) return;
    std::uniform_int_distribution<std::size_t> size(1, ready.size());
    const Octets piece(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(size(random_)));
    from.transmitted(piece.size());
    CHECK(to.receive(piece, kStart) == piece.size());
  }

  std::mt19937 random_;
};

/// Returns bit n of `bits`.
bool bit(unsigned bits, unsigned n) { return (bits >> n & 1) != 0; }

void check_agreement(const Pair& pair) {
  const auto& i = pair.initiator.negotiated();
  const auto& r = pair.responder.negotiated();
  CHECK(pair.initiator.state() == StartupState::kFullOperation);
  CHECK(pair.responder.state() == StartupState::kFullOperation);
  CHECK(i.role == Role::kInitiator);
  CHECK(r.role == Role::kResponder);
  CHECK(i.revision == r.revision);
  CHECK(i.enhanced == r.enhanced);
  CHECK(i.crc == r.crc);
  CHECK(i.tx_markers == r.rx_markers);
  CHECK(i.rx_markers == r.tx_markers);
  CHECK(text(pair.responder.peer_private_data()) == text(octets("to the responder")));
  CHECK(text(pair.initiator.peer_private_data()) == text(octets("to the initiator")));
}

TEST_CASE(
    "neither end ever has more Reads outstanding than the other can answer [EMPA-17, EMPA-18, "
    "EMPA-22, EMPA-23]") {
  for (const std::uint16_t ird : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{5}}) {
    for (const std::uint16_t ord : {std::uint16_t{0}, std::uint16_t{6}, std::uint16_t{7}}) {
      const StartupOptions a{.ird = ird, .ord = ord};
      Pair pair(a, {}, ird * 10U + ord);
      pair.run();
      check_agreement(pair);
      CHECK(pair.initiator.negotiated().ord == std::min<std::uint16_t>(ord, 6));
      CHECK(pair.responder.negotiated().ord == std::min<std::uint16_t>(ird, 5));
      CHECK(pair.initiator.negotiated().ord <= pair.responder.negotiated().ird);
      CHECK(pair.responder.negotiated().ord <= pair.initiator.negotiated().ird);
      CHECK(pair.responder.peer_offer()->ird == ird);
      CHECK(pair.responder.peer_offer()->ord == ord);
      CHECK(pair.initiator.peer_offer()->ird == 6);
    }
  }
}

TEST_CASE(
    "0x3FFF in any of the four places leaves both values of that direction unchanged [EMPA-26, "
    "EMPA-27, EMPA-28, EMPA-29]") {
  for (unsigned bits = 0; bits < 16; ++bits) {
    CAPTURE(bits);
    StartupOptions a;
    StartupOptions b;
    a.ird = 2;
    a.ord = 9;
    a.negotiate_ird = !bit(bits, 0);
    a.negotiate_ord = !bit(bits, 1);
    b.negotiate_ird = !bit(bits, 2);
    b.negotiate_ord = !bit(bits, 3);
    Pair pair(a, b, bits);
    pair.run();
    check_agreement(pair);
    CHECK(pair.initiator.negotiated().ord == (a.negotiate_ord && b.negotiate_ird ? 6 : 9));
    CHECK(pair.responder.negotiated().ird == 6);
    CHECK(pair.responder.negotiated().ord == (a.negotiate_ird ? 2 : 5));
    CHECK(pair.initiator.negotiated().ird == 2);
  }
}

TEST_CASE("a rejection arrives however it is split, in both revisions [MPA-85, MPA-91]") {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const StartupOptions a{.revision = seed % 2 == 0 ? std::uint8_t{1} : std::uint8_t{2}};
    Pair pair(a, {}, seed);
    pair.run(false);
    CHECK(pair.initiator.state() == StartupState::kRejected);
    CHECK(pair.responder.state() == StartupState::kRejected);
    CHECK(text(pair.initiator.peer_private_data()) == text(octets("to the initiator")));
  }
}

TEST_CASE("after startup has ended, events that end or begin one are ignored") {
  for (const bool accept : {true, false}) {
    CAPTURE(accept);
    Pair pair({}, {}, 1);
    pair.run(accept);
    for (Startup* end : {&pair.initiator, &pair.responder}) {
      const auto state = end->state();
      CHECK(state == (accept ? StartupState::kFullOperation : StartupState::kRejected));
      const auto late = kStart + StartupOptions{}.timeout;
      CHECK_FALSE(end->timeout());
      end->handle_timeout(late);
      end->closed(late);
      end->listen(late);
      CHECK_FALSE(end->request({}, late));
      CHECK_FALSE(end->accept({}, 1, 1));
      CHECK_FALSE(end->reject({}));
      CHECK(end->state() == state);
      CHECK_FALSE(end->failure());
    }
  }
}

}  // namespace
}  // namespace iwarp::mpa::test
