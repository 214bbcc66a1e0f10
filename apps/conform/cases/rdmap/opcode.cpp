// SPDX-License-Identifier: Apache-2.0
// Cases about misplaced opcodes (RFC 5040 sections 4.1 and 7.2): undefined opcodes, and opcodes on
// the wrong queue or in the wrong DDP model. The error codes of both layers are accepted, because
// DDP may reject the queue before RDMAP sees the opcode.
#include "conform/script/case.hpp"
#include "conform/script/steps.hpp"
#include "iwarp/rdmap/faults.hpp"

namespace iwarp::apps::conform {
namespace rdmap_opcode {
namespace {

using rdmap::Opcode;

constexpr std::size_t kAtomicRequest = 52;
constexpr std::size_t kAtomicResponse = 12;

Octets payload_of(Opcode opcode, const PeerMemory& memory) {
  if (opcode == Opcode::kReadRequest) return encode_read_request(read_of(memory, 0, 8));
  return Octets(opcode == Opcode::kTerminate ? 4 : 16);
}

template <std::uint8_t kOpcode>
void reserved(Script& s) {
  after_first_send(s);
  auto header = untagged(Opcode::kSend, s.next_msn(Opcode::kSend));
  header.rsvd_ulp = rdmap::kVersion | kOpcode;
  s.fpdu(make_ulpdu(header, Octets(16)));
  s.expect_terminate({rdmap::kUnexpectedOpcode});
}

void reserved_tagged(Script& s) {
  const auto memory = after_first_send(s);
  auto header = tagged(Opcode::kWrite, memory.stag, memory.to);
  header.rsvd_ulp = rdmap::kVersion | 0x0F;
  s.fpdu(make_ulpdu(header, Octets(8)));
  s.expect_terminate({rdmap::kUnexpectedOpcode});
}

// Sends a valid message of RFC 7306 on a stream whose ends have not agreed to RFC 7306.
template <std::uint8_t kOpcode, ddp::Qn kQn, std::size_t kSize>
void not_agreed(Script& s) {
  after_first_send(s);
  auto header = untagged(Opcode::kSend, kQn == 0 ? s.next_msn(Opcode::kSend) : 1);
  header.rsvd_ulp = rdmap::kVersion | kOpcode;
  header.qn = kQn;
  s.fpdu(make_ulpdu(header, Octets(kSize)));
  s.expect_terminate({rdmap::kUnexpectedOpcode});
}

template <Opcode kOpcode, ddp::Qn kQn>
void on_queue(Script& s) {
  const auto memory = after_first_send(s);
  const auto msn = kQn == 0 ? s.next_msn(Opcode::kSend) : 1;
  auto header = untagged(kOpcode, msn);
  header.qn = kQn;
  s.fpdu(make_ulpdu(header, payload_of(kOpcode, memory)));
  expect_terminate_next(s, {rdmap::kUnexpectedOpcode, ddp::kUntaggedQn});
}

// Sends a Terminate on the wrong queue. Some peers accept this Terminate; the stream must end in
// either case.
template <ddp::Qn kQn>
void terminate_on_queue(Script& s) {
  after_first_send(s);
  auto header = untagged(Opcode::kTerminate, kQn == 0 ? s.next_msn(Opcode::kSend) : 1);
  header.qn = kQn;
  s.fpdu(make_ulpdu(header, Octets(4)));
  s.expect_end();
}

template <Opcode kOpcode>
void as_tagged(Script& s) {
  const auto memory = after_first_send(s);
  s.fpdu(make_ulpdu(tagged(kOpcode, memory.stag, memory.to), payload_of(kOpcode, memory)));
  s.expect_terminate({rdmap::kUnexpectedOpcode});
}

template <Opcode kOpcode>
void as_untagged(Script& s) {
  const auto memory = after_first_send(s);
  auto header = untagged(kOpcode, s.next_msn(Opcode::kSend));
  s.fpdu(make_ulpdu(header, payload_of(kOpcode, memory)));
  s.expect_terminate({rdmap::kUnexpectedOpcode});
}

constexpr auto kAny = PeerRole::kEither;
constexpr auto kMust = Level::kMust;

// clang-format off
constexpr Case kCases[] = {
    {"rdmap/opcode/immediate-not-agreed", "RFC 7306 1.1", "EXT-2 RDMAP-97", "refuses Immediate Data if RFC 7306 was not negotiated", kMust, kAny, not_agreed<0x8, 0, 8>},
    {"rdmap/opcode/immediate-se-not-agreed", "RFC 7306 1.1", "EXT-2 RDMAP-97", "refuses Immediate Data with Solicited Event if RFC 7306 was not negotiated", kMust, kAny, not_agreed<0x9, 0, 8>},
    {"rdmap/opcode/atomic-request-not-agreed", "RFC 7306 1.1", "EXT-2 RDMAP-97", "refuses an Atomic Request if RFC 7306 was not negotiated", kMust, kAny, not_agreed<0xA, 1, kAtomicRequest>},
    {"rdmap/opcode/atomic-response-not-agreed", "RFC 7306 1.1", "EXT-2 RDMAP-97", "refuses an Atomic Response if RFC 7306 was not negotiated", kMust, kAny, not_agreed<0xB, 3, kAtomicResponse>},
    {"rdmap/opcode/reserved-c", "RFC 5040 7.2", "RDMAP-97 REG-4", "refuses the unassigned opcode 0xC", kMust, kAny, reserved<0xC>},
    {"rdmap/opcode/reserved-d", "RFC 5040 7.2", "RDMAP-97 REG-4", "refuses the unassigned opcode 0xD", kMust, kAny, reserved<0xD>},
    {"rdmap/opcode/reserved-e", "RFC 5040 7.2", "RDMAP-97 REG-4", "refuses the unassigned opcode 0xE", kMust, kAny, reserved<0xE>},
    {"rdmap/opcode/reserved-f", "RFC 5040 7.2", "RDMAP-97 REG-4", "refuses the experimental opcode F", kMust, kAny, reserved<0xF>},
    {"rdmap/opcode/reserved-tagged", "RFC 5040 7.2", "RDMAP-97 REG-4", "refuses the experimental opcode F in a tagged segment", kMust, kAny, reserved_tagged},
    {"rdmap/opcode/send-on-queue-1", "RFC 5040 4.1", "RDMAP-7 RDMAP-54 RDMAP-97", "refuses a Send on queue 1", kMust, kAny, on_queue<Opcode::kSend, 1>},
    {"rdmap/opcode/send-on-queue-2", "RFC 5040 4.1", "RDMAP-7 RDMAP-54 RDMAP-97", "refuses a Send on queue 2", kMust, kAny, on_queue<Opcode::kSend, 2>},
    {"rdmap/opcode/send-on-queue-3", "RFC 5040 4.1", "RDMAP-7 RDMAP-54 RDMAP-97", "refuses a Send on queue 3", kMust, kAny, on_queue<Opcode::kSend, 3>},
    {"rdmap/opcode/read-request-on-queue-0", "RFC 5040 4.1", "RDMAP-7 RDMAP-33 RDMAP-97", "refuses a Read Request on queue 0", kMust, kAny, on_queue<Opcode::kReadRequest, 0>},
    {"rdmap/opcode/read-request-on-queue-2", "RFC 5040 4.1", "RDMAP-7 RDMAP-33 RDMAP-97", "refuses a Read Request on queue 2", kMust, kAny, on_queue<Opcode::kReadRequest, 2>},
    {"rdmap/opcode/terminate-on-queue-0", "RFC 5040 4.1", "RDMAP-7 RDMAP-59", "ends the stream on a Terminate that arrives on queue 0", kMust, kAny, terminate_on_queue<0>},
    {"rdmap/opcode/terminate-on-queue-1", "RFC 5040 4.1", "RDMAP-7 RDMAP-59", "ends the stream on a Terminate that arrives on queue 1", kMust, kAny, terminate_on_queue<1>},
    {"rdmap/opcode/tagged-send", "RFC 5040 4.1", "RDMAP-5 RDMAP-48 RDMAP-97", "refuses a Send in a tagged segment", kMust, kAny, as_tagged<Opcode::kSend>},
    {"rdmap/opcode/tagged-read-request", "RFC 5040 4.1", "RDMAP-5 RDMAP-30 RDMAP-97", "refuses a Read Request in a tagged segment", kMust, kAny, as_tagged<Opcode::kReadRequest>},
    {"rdmap/opcode/untagged-write", "RFC 5040 4.1", "RDMAP-5 RDMAP-23 RDMAP-97", "refuses a Write in an untagged segment", kMust, kAny, as_untagged<Opcode::kWrite>},
    {"rdmap/opcode/untagged-read-response", "RFC 5040 4.1", "RDMAP-5 RDMAP-42 RDMAP-97", "refuses a Read Response in an untagged segment", kMust, kAny, as_untagged<Opcode::kReadResponse>},
};
// clang-format on

}  // namespace
}  // namespace rdmap_opcode

std::span<const Case> opcode_cases() { return rdmap_opcode::kCases; }

}  // namespace iwarp::apps::conform
