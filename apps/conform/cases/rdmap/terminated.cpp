// SPDX-License-Identifier: Apache-2.0
// Cases about well-formed and malformed Terminates that the tester sends (RFC 5040 sections 4.8,
// 5.4 and 7). The peer must always be able to receive a Terminate. It must end the stream and must
// not answer with a Terminate, except that it may report a malformed Terminate.
#include "conform/script/case.hpp"
#include "conform/script/steps.hpp"

namespace iwarp::apps::conform {
namespace rdmap_terminated {
namespace {

using rdmap::Opcode;

// Size of a Terminate that is cut off in the middle of the DDP header that it returns.
constexpr std::size_t kCut = 4 + 2 + 5;
constexpr std::size_t kLong = 200;

Octets octets_of(std::initializer_list<unsigned> values) {
  Octets out;
  for (const auto value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

void say(Script& s, bytes::View payload) {
  s.fpdu(make_ulpdu(untagged(Opcode::kTerminate, s.take_msn(Opcode::kTerminate)), payload));
}

// Returns the payload of a Terminate that reports an invalid STag in a Write. The payload includes
// the headers of a Write that the peer might have sent.
Octets with_headers() {
  auto out = octets_of({0x11, 0x00, 0xC0, 0x00, 0x00, 22});
  const auto write = make_ulpdu(tagged(Opcode::kWrite, 0xDEADBEEF, 0), {});
  out.insert(out.end(), write.begin(), write.end());
  return out;
}

template <unsigned kFirst, unsigned kCode, unsigned kFlags, unsigned kReserved>
void control(Script& s) {
  after_first_send(s);
  say(s, octets_of({kFirst, kCode, kFlags, kReserved}));
  expect_end_without_terminate(s);
}

void headers(Script& s) {
  after_first_send(s);
  say(s, with_headers());
  expect_end_without_terminate(s);
}

void cut_off(Script& s) {
  after_first_send(s);
  say(s, bytes::View(with_headers()).first(kCut));
  expect_end_without_terminate(s);
}

template <std::size_t kSize>
void no_control(Script& s) {
  after_first_send(s);
  say(s, Octets(kSize));
  s.expect_end();
}

void too_long(Script& s) {
  after_first_send(s);
  say(s, Octets(kLong));
  s.expect_end();
}

void msn_2(Script& s) {
  after_first_send(s);
  s.fpdu(make_ulpdu(untagged(Opcode::kTerminate, 2), Octets(4)));
  s.expect_end();
}

void two_segments(Script& s) {
  after_first_send(s);
  send_segments(s, Opcode::kTerminate, Octets(4), {2, 2});
  expect_end_without_terminate(s);
}

void first(Script& s) {
  begin(s);
  say(s, Octets(4));
  expect_end_without_terminate(s);
}

void error_behind(Script& s) {
  const auto memory = after_first_send(s);
  auto both = s.make(make_ulpdu(untagged(Opcode::kTerminate, 1), Octets(4)));
  const auto bad = s.make(make_ulpdu(tagged(Opcode::kWrite, ~memory.stag, 0), pattern(8)));
  both.insert(both.end(), bad.begin(), bad.end());
  s.octets(both);
  expect_end_without_terminate(s);
}

void while_it_reads(Script& s) {
  await_read(s);
  say(s, Octets(4));
  expect_end_without_terminate(s);
}

constexpr auto kAny = PeerRole::kEither;
constexpr auto kMust = Level::kMust;

// clang-format off
constexpr Case kCases[] = {
    {"rdmap/terminated/minimal", "RFC 5040 5.4", "RDMAP-61 RDMAP-62 RDMAP-90", "ends the stream on a Terminate, without sending a Terminate", kMust, kAny, control<0x00, 0x00, 0x00, 0x00>},
    {"rdmap/terminated/first", "RFC 5040 5.4", "RDMAP-61 RDMAP-90", "accepts a Terminate as the first message", kMust, kAny, first},
    {"rdmap/terminated/while-it-reads", "RFC 5040 5.4", "RDMAP-61 RDMAP-90", "accepts a Terminate in place of a Read Response", kMust, PeerRole::kResponder, while_it_reads},
    {"rdmap/terminated/headers", "RFC 5040 4.8", "RDMAP-19 RDMAP-20 RDMAP-90", "accepts a Terminate that contains the DDP header of a Write", kMust, kAny, headers},
    {"rdmap/terminated/unknown-code", "RFC 5040 4.8", "RDMAP-16 RDMAP-90", "accepts a Terminate with an undefined Error Code", kMust, kAny, control<0x02, 0x77, 0x00, 0x00>},
    {"rdmap/terminated/unknown-layer", "RFC 5040 4.8", "RDMAP-16 RDMAP-90", "accepts a Terminate with an undefined Layer", kMust, kAny, control<0xFF, 0xFF, 0x00, 0x00>},
    {"rdmap/terminated/reserved-bits", "RFC 5040 4.8", "RDMAP-18 RDMAP-90", "ignores the reserved bits of a Terminate", kMust, kAny, control<0x00, 0x00, 0x1F, 0xFF>},
    {"rdmap/terminated/no-length", "RFC 5040 4.8", "RDMAP-19 RDMAP-90", "accepts a Terminate with M=1 but no DDP Segment Length", kMust, kAny, control<0x10, 0x00, 0x80, 0x00>},
    {"rdmap/terminated/no-headers", "RFC 5040 4.8", "RDMAP-20 RDMAP-21 RDMAP-90", "accepts a Terminate with M=D=R=1 but no headers", kMust, kAny, control<0x01, 0x00, 0xE0, 0x00>},
    {"rdmap/terminated/cut-off", "RFC 5040 4.8", "RDMAP-20 RDMAP-90", "accepts a Terminate that ends inside a header", kMust, kAny, cut_off},
    {"rdmap/terminated/empty", "RFC 5040 4.8", "RDMAP-15 RDMAP-90", "ends the stream on a Terminate of 0 octets", kMust, kAny, no_control<0>},
    {"rdmap/terminated/short", "RFC 5040 4.8", "RDMAP-15 RDMAP-90", "ends the stream on a Terminate of 3 octets", kMust, kAny, no_control<3>},
    {"rdmap/terminated/long", "RFC 5040 4.8", "RDMAP-15 RDMAP-90", "ends the stream on a Terminate of 200 octets", kMust, kAny, too_long},
    {"rdmap/terminated/msn-2", "RFC 5040 5.4", "RDMAP-60 DDP-72 RDMAP-90", "ends the stream on a Terminate with MSN 2", kMust, kAny, msn_2},
    {"rdmap/terminated/two-segments", "RFC 5041 5.2", "DDP-40 RDMAP-90", "accepts a Terminate of two segments", Level::kShould, kAny, two_segments},
    {"rdmap/terminated/error-behind", "RFC 5040 7", "RDMAP-89 RDMAP-90", "ignores everything that follows a Terminate", kMust, kAny, error_behind},
};
// clang-format on

}  // namespace
}  // namespace rdmap_terminated

std::span<const Case> terminated_cases() { return rdmap_terminated::kCases; }

}  // namespace iwarp::apps::conform
