// SPDX-License-Identifier: Apache-2.0
// Tests programs that write to a buffer while a request sends it. The peer receives a mixture of
// old and new octets, but every FPDU is valid and the connection continues (RFC 5040 section 5.5).
#include "support.hpp"

using namespace iwarp;        // NOLINT
using namespace iwarp::test;  // NOLINT

namespace {

struct Case {
  WrOpcode opcode;
  std::size_t size;
  bool crc;
  bool markers;
  std::size_t segment;  ///< maximum number of octets sent at a time
};

void post_request(End& from, End& to, const Case& how, const Region* source, const Region* sink) {
  const Sge here = sge(source, 0, how.size);
  switch (how.opcode) {
    case WrOpcode::kWrite:
      return post_write(from, 1, here, remote(sink));
    case WrOpcode::kRead:  // A Read has its source in the peer's memory.
      return post_read(to, 1, sge(sink, 0, how.size), remote(source));
    default:
      post_recv(to, 2, sge(sink, 0, how.size));
      return post_send(from, 1, here);
  }
}

void send_while_it_changes(const Case& how) {
  INFO("opcode ", static_cast<int>(how.opcode), ", size ", how.size, ", crc ", how.crc,
       ", markers ", how.markers, ", segment ", how.segment);
  ConnectionOptions options;
  options.startup.crc = how.crc;
  options.startup.markers = how.markers;
  options.max_ulpdu = mpa::kMaxMulpdu;
  auto [pair, source, sink] =
      Ready(how.size, options, options, {.seed = 3, .max_segment = how.segment});
  pair.a->on_plan = pair.b->on_plan = [source] {
    for (std::byte& octet : std::span(source->address, source->length)) {
      octet = static_cast<std::byte>(std::to_integer<unsigned>(octet) + 1);
    }
  };
  post_request(*pair.a, *pair.b, how, source, sink);
  pair.run();
  for (End* end : {pair.a.get(), pair.b.get()}) {
    for (const auto& wc : end->completions()) CHECK(wc.status == WcStatus::kSuccess);
    CHECK(end->qp->state() == QpState::kRts);
    CHECK(received_code(*end) == "none");
  }
  post_write(*pair.a, 9, sge(source, 0, 8), remote(sink));
  pair.run();
  CHECK(pair.a->completions().size() == 1);
}

}  // namespace

TEST_CASE("a source that changes between planning and sending breaks no CRC [MPA-44]") {
  for (const WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kSend, WrOpcode::kRead}) {
    for (const std::size_t size : {600UZ, 5000UZ, 70'000UZ}) {
      for (const bool crc : {true, false}) {
        for (const bool markers : {false, true}) {
          // Transmits either all planned octets at once, or 7000 octets at a time with a new plan
          // each time.
          for (const std::size_t segment : {std::size_t{1'000'000}, std::size_t{7000}}) {
            send_while_it_changes({opcode, size, crc, markers, segment});
          }
        }
      }
    }
  }
}
