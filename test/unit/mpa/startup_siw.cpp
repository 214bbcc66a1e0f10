// SPDX-License-Identifier: Apache-2.0
// Compares Startup with frames of the kernel's siw (Linux 6.1.192, rdma-core 44). The frames were
// captured between two siw peers that ran rping and rdma_client: with and without CRC, in
// peer-to-peer mode, and in revision 1. No frame carries ULP private data.
#include "startup_support.hpp"

namespace iwarp::mpa::test {
namespace {

struct Capture {
  const char* request;  ///< hex digits of the Request after its key
  const char* reply;
  bool crc;
  bool enhanced;
  bool peer_to_peer;
  std::uint16_t reads;  ///< IRD and ORD at both ends
};

constexpr std::array kCaptures{
    Capture{"10020004 00010001", "10020004 00010001", false, true, false, 1},    // rping
    Capture{"50020004 00800080", "50020004 00800080", true, true, false, 0x80},  // rdma_client
    Capture{"50020004 00040004", "50020004 00040004", true, true, false, 4},     // rping
    Capture{"50020004 8001c001", "50020004 80018001", true, true, true, 1},      // rping
    Capture{"40010000", "40010000", true, false, false, 4},                      // rping, mpa 1
};

/// Returns options with which Startup produces the same frames as siw.
StartupOptions like(const Capture& capture) {
  return {.revision = capture.enhanced ? std::uint8_t{2} : std::uint8_t{1},
          .crc = capture.crc,
          .rtr = capture.peer_to_peer ? Rtr::kWrite : Rtr::kNone,
          .rtr_supported = {.write = true, .read = true, .send = false},
          .ird = capture.reads,
          .ord = capture.reads};
}

TEST_CASE("our initiator sends the same Request as siw and accepts siw's Reply [MPA-92, EMPA-38]") {
  for (const auto& capture : kCaptures) {
    CAPTURE(capture.request);
    Startup end(Role::kInitiator, like(capture));
    REQUIRE(end.request({}, kStart));
    CHECK(text(drain(end)) == kRequestKey + capture.request);
    end.receive(hex(kReplyKey + capture.reply), kStart);
    CHECK(end.state() == StartupState::kFullOperation);
    CHECK_FALSE(end.failure());
    CHECK(end.negotiated().crc == capture.crc);
    CHECK(end.negotiated().rtr == (capture.peer_to_peer ? Rtr::kWrite : Rtr::kNone));
    CHECK(end.negotiated().ird == capture.reads);
    CHECK(end.negotiated().ord == capture.reads);
  }
}

TEST_CASE("our responder accepts siw's Request and sends the same Reply as siw [MPA-87, EMPA-45]") {
  for (const auto& capture : kCaptures) {
    CAPTURE(capture.request);
    auto options = like(capture);
    options.revision = 2;
    options.crc = false;                 // The Reply of siw repeats the C bit of the Request.
    options.rtr_supported.read = false;  // The Reply of siw offers only one RTR kind.
    auto end = listening(options);
    end.receive(hex(kRequestKey + capture.request), kStart);
    REQUIRE(end.state() == StartupState::kAwaitDecision);
    REQUIRE(end.accept({}, capture.reads, capture.reads));
    CHECK(text(drain(end)) == kReplyKey + capture.reply);
    CHECK(end.negotiated().crc == capture.crc);
    CHECK(end.negotiated().peer_to_peer == capture.peer_to_peer);
  }
}

}  // namespace
}  // namespace iwarp::mpa::test
