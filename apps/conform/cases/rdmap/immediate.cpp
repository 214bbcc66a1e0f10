// SPDX-License-Identifier: Apache-2.0
// Cases about Immediate Data (RFC 7306 section 6), for peers that have agreed to it. The wire does
// not show whether the peer's program expects Immediate Data, so a case fails only if the peer's
// RDMAP or DDP reports an error.
#include "conform/cases/rdmap/agreed.hpp"
#include "conform/script/case.hpp"
#include "iwarp/rdmap/faults.hpp"

namespace iwarp::apps::conform {
namespace rdmap_immediate {
namespace {

using rdmap::Opcode;

constexpr std::uint8_t kPlain = 0x8;
constexpr std::uint8_t kSolicited = 0x9;
// Number of messages: more than the receives that the peer posts, but few enough for one TCP
// segment.
constexpr std::size_t kMany = 40;

Octets immediate(Script& s, std::uint8_t opcode, std::size_t size = 8) {
  auto header = untagged(Opcode::kSend, s.take_msn(Opcode::kSend));
  header.rsvd_ulp = static_cast<std::uint8_t>(rdmap::kVersion | opcode);
  return make_ulpdu(header, pattern(size));
}

bool is_objection(const ReceivedTerminate& received) {
  return !reports(received, rdmap::kLocalCatastrophic) &&
         (received.terminate.fault.layer != bytes::Layer::kRdma ||
          received.terminate.fault.type != 0);
}

template <std::uint8_t kOpcode>
void taken(Script& s) {
  agreed(s);
  s.fpdu(immediate(s, kOpcode));
  const Received received = s.receive(std::chrono::milliseconds(300));
  if (received.kind == Received::Kind::kSegment && received.segment->is(Opcode::kTerminate) &&
      is_objection(read_terminate(*received.segment))) {
    throw Failed{"no Terminate except 0/0/00 local catastrophic error", describe(received)};
  }
}

template <std::size_t kSize>
void of_size(Script& s) {
  agreed(s);
  s.fpdu(immediate(s, kPlain, kSize));
  const Received received = s.receive();
  if (received.kind != Received::Kind::kSegment || !received.segment->is(Opcode::kTerminate) ||
      !is_objection(read_terminate(*received.segment))) {
    throw Failed{"a Terminate other than 0/0/00 local catastrophic error", describe(received)};
  }
}

void no_receive(Script& s) {
  agreed(s);
  Octets burst;
  for (std::size_t n = 0; n < kMany; ++n) {
    const auto one = s.make(immediate(s, kPlain));
    burst.insert(burst.end(), one.begin(), one.end());
  }
  s.octets(burst);
  for (;;) {
    const Received received = s.receive();
    if (received.kind != Received::Kind::kSegment) {
      throw Skipped{"the peer's program never ran out of posted receives"};
    }
    if (!received.segment->is(Opcode::kTerminate)) continue;
    const auto terminate = read_terminate(*received.segment);
    if (!is_objection(terminate))
      throw Skipped{"the peer's program ended the stream before its posted receives ran out"};
    if (reports(terminate, ddp::kUntaggedNoBuffer)) return;
    throw Failed{"Terminate " + bytes::to_string(ddp::kUntaggedNoBuffer), describe(terminate)};
  }
}

void as_tagged(Script& s) {
  const auto memory = agreed(s);
  auto header = tagged(Opcode::kWrite, memory.stag, memory.to);
  header.rsvd_ulp = rdmap::kVersion | kPlain;
  s.fpdu(make_ulpdu(header, pattern(8)));
  s.expect_terminate({rdmap::kUnexpectedOpcode});
}

void on_queue_1(Script& s) {
  agreed(s);
  auto header = untagged(Opcode::kSend, 1);
  header.rsvd_ulp = rdmap::kVersion | kPlain;
  header.qn = 1;
  s.fpdu(make_ulpdu(header, pattern(8)));
  s.expect_terminate({rdmap::kUnexpectedOpcode, ddp::kUntaggedQn});
}

constexpr auto kAny = PeerRole::kEither;
constexpr auto kMust = Level::kMust;

// clang-format off
constexpr Case kCases[] = {
    {"ext/immediate/taken", "RFC 7306 6.3", "EXT-49 EXT-52", "accepts 8 octets of Immediate Data", kMust, kAny, taken<kPlain>},
    {"ext/immediate/solicited", "RFC 7306 6.3", "EXT-49 EXT-52", "accepts Immediate Data with Solicited Event", kMust, kAny, taken<kSolicited>},
    {"ext/immediate/empty", "RFC 7306 6.3", "EXT-54", "refuses Immediate Data of 0 octets", kMust, kAny, of_size<0>},
    {"ext/immediate/short", "RFC 7306 6.3", "EXT-54", "refuses Immediate Data of 7 octets", kMust, kAny, of_size<7>},
    {"ext/immediate/long", "RFC 7306 6.3", "EXT-54", "refuses Immediate Data of 9 octets", kMust, kAny, of_size<9>},
    {"ext/immediate/no-receive", "RFC 7306 6.3", "EXT-50 EXT-62", "terminates on Immediate Data for which no receive is posted", kMust, kAny, no_receive},
    {"ext/immediate/tagged", "RFC 7306 4.1", "EXT-3 EXT-49 EXT-63", "refuses Immediate Data in a tagged segment", kMust, kAny, as_tagged},
    {"ext/immediate/queue-1", "RFC 7306 4.1", "EXT-3 EXT-49 EXT-63", "refuses Immediate Data on queue 1", kMust, kAny, on_queue_1},
};
// clang-format on

}  // namespace
}  // namespace rdmap_immediate

std::span<const Case> immediate_cases() { return rdmap_immediate::kCases; }

}  // namespace iwarp::apps::conform
