// SPDX-License-Identifier: Apache-2.0
// Cases about atomic operations (RFC 7306 sections 5, 7 and 8), for peers that have agreed to them.
// The cases read and set the peer's memory only by atomics, so the byte order of the peer's host
// does not matter. They encode the requests themselves and do not use the stack's encoder. The
// cases in immediate.cpp test Immediate Data.
#include <fmt/format.h>

#include "conform/cases/rdmap/agreed.hpp"
#include "conform/script/case.hpp"
#include "iwarp/rdmap/faults.hpp"

namespace iwarp::apps::conform {
namespace rdmap_extension {
namespace {

using rdmap::Opcode;

constexpr std::uint8_t kFetchAdd = 0;
constexpr std::uint8_t kCmpSwap = 2;
constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr std::uint64_t kValue = 0x0123456789ABCDEF;
constexpr std::uint32_t kUnknown = 0x5A5A5A00;
// Number of requests: more than the agreed limit, but few enough for one TCP segment.
constexpr std::uint32_t kMany = 18;
constexpr std::uint16_t kDepth = 4;

struct Atomic {
  std::uint8_t opcode = kFetchAdd;
  std::uint64_t data = 0;
  std::uint64_t mask = 0;
  std::uint64_t compare = 0;
  std::uint64_t compare_mask = kAll;
  std::uint32_t id = 0xCAFE0001;
  std::uint32_t reserved = 0;
};

Octets encode_atomic(const Atomic& a, std::uint32_t stag, std::uint64_t to) {
  Octets out(52);
  bytes::Writer writer(out);
  writer.u32(a.reserved << 4 | a.opcode);
  writer.u32(a.id);
  writer.u32(stag);
  for (const auto value : {to, a.data, a.mask, a.compare, a.compare_mask}) writer.u64(value);
  return out;
}

ddp::SegmentHeader next_header(Script& s) {
  auto header = untagged(Opcode::kReadRequest, s.take_msn(Opcode::kReadRequest));
  header.rsvd_ulp = rdmap::kVersion | 0xA;
  return header;
}

void ask(Script& s, const Atomic& a, std::uint32_t stag, std::uint64_t to) {
  s.fpdu(make_ulpdu(next_header(s), encode_atomic(a, stag, to)));
}

/// Expects the response to the atomic `a`; its MSN must be `number`. Returns the original value
/// that the response contains.
std::uint64_t original(Script& s, const Atomic& a, std::uint32_t number) {
  const Received received = s.receive();
  const bool segment = received.kind == Received::Kind::kSegment;
  if (!segment || received.segment->opcode() != 0xB) {
    throw Failed{"an Atomic Response", describe(received)};
  }
  const auto& h = received.segment->header;
  const auto& octets = received.segment->ulpdu;
  if (octets[0] != std::byte{0x41} || octets[1] != std::byte{0x4B} || h.qn != 3 ||
      h.msn.value != number || h.mo != 0 || received.segment->payload().size() != 12) {
    throw Failed{fmt::format("an Atomic Response of 12 octets on queue 3 with MSN {}", number),
                 "an Atomic Response with a different size or header"};
  }
  bytes::Reader reader(received.segment->payload());
  if (reader.u32() != a.id)
    throw Failed{"the Request Identifier of the Atomic Request", "a different Request Identifier"};
  return reader.u64();
}

/// An 8-octet word of the peer's memory. Sends atomics for this word and checks their results.
class Word {
 public:
  explicit Word(Script& s) : s_(s), memory_(agreed(s, {.ord = kDepth, .extensions = true})) {
    to_ = (memory_.to + 7) & ~std::uint64_t{7};
    ask(s_, {}, memory_.stag, to_);
    const Received received = s_.receive();
    const bool segment = received.kind == Received::Kind::kSegment;
    if (segment && received.segment->is(Opcode::kTerminate) &&
        reports(read_terminate(*received.segment), rdmap::kAccessRights)) {
      throw Skipped{"the peer's memory does not permit atomics"};
    }
    if (!segment || received.segment->opcode() != 0xB) {
      throw Failed{"an Atomic Response", describe(received)};
    }
  }

  std::uint64_t operator()(const Atomic& a) {
    ask(s_, a, memory_.stag, to_);
    return original(s_, a, ++answered_);
  }
  void set(std::uint64_t value) { (*this)({kCmpSwap, value, kAll, 0, 0}); }
  std::uint64_t get() { return (*this)({}); }
  void expect(std::uint64_t value) {
    if (const auto observed = get(); observed != value) {
      throw Failed{fmt::format("{:016x} in the peer's memory", value),
                   fmt::format("{:016x}", observed)};
    }
  }
  /// Sets the word to `before` and sends `a`. Expects the response to contain `before`, and expects
  /// that the word has become `after`.
  void check(std::uint64_t before, const Atomic& a, std::uint64_t after) {
    set(before);
    if (const auto observed = (*this)(a); observed != before) {
      throw Failed{fmt::format("{:016x} as the original value", before),
                   fmt::format("{:016x}", observed)};
    }
    expect(after);
  }

  const PeerMemory& memory() const { return memory_; }
  std::uint64_t to() const { return to_; }
  std::uint32_t answered() const { return answered_; }

 private:
  Script& s_;
  PeerMemory memory_;
  std::uint64_t to_ = 0;
  std::uint32_t answered_ = 1;
};

// Results -----------------------------------------------------------------------------------------

void fetch_add(Script& s) {
  Word word(s);
  word.check(kValue, {.data = 5}, kValue + 5);
  word.check(kAll, {.data = 1}, 0);
}

void fetch_add_masked(Script& s) {
  Word word(s);
  // The addition produces a carry out of the masked field. The peer must drop this carry.
  word.check(0xFF, {.data = 1, .mask = 0x80}, 0);
  word.check(0x00000000FFFFFFFF, {.data = 1, .mask = 0x80000000}, 0);
  word.check(0xFFFFFFFFFFFFFFFF, {.data = 0x0101010101010101, .mask = 0x8080808080808080}, 0);
  word.check(0x7FFFFFFF, {.data = 1, .mask = std::uint64_t{1} << 63}, 0x80000000);
}

void fetch_add_compare_ignored(Script& s) {
  Word word(s);
  word.check(kValue, {.data = 1, .compare = 99, .compare_mask = 0}, kValue + 1);
}

void cmp_swap(Script& s) {
  Word word(s);
  word.check(kValue, {kCmpSwap, 77, kAll, kValue, kAll}, 77);
  word.check(kValue, {kCmpSwap, 77, kAll, kValue + 1, kAll}, kValue);
}

void cmp_swap_masked(Script& s) {
  Word word(s);
  constexpr std::uint64_t kLow = 0xFFFFFFFF;
  word.check(kValue, {kCmpSwap, 77, kAll, kValue & kLow, kLow}, 77);
  word.check(kValue, {kCmpSwap, 77, kLow, kValue, kAll}, (kValue & ~kLow) | 77);
  word.check(kValue, {kCmpSwap, 77, 0, kValue, kAll}, kValue);
}

void reserved_bits(Script& s) {
  Word word(s);
  word.check(kValue, {.data = 1, .reserved = 0x0FFFFFFF}, kValue + 1);
}

void identifier(Script& s) {
  Word word(s);
  for (const std::uint32_t id : {0U, 7U, 0xFFFFFFFFU, 7U}) word({.id = id});
}

// Order -------------------------------------------------------------------------------------------

void two_at_once(Script& s) {
  Word word(s);
  word.set(kValue);
  const Atomic first{.data = 1, .id = 1};
  const Atomic second{.data = 1, .id = 2};
  auto octets =
      s.make(make_ulpdu(next_header(s), encode_atomic(first, word.memory().stag, word.to())));
  const auto more =
      s.make(make_ulpdu(next_header(s), encode_atomic(second, word.memory().stag, word.to())));
  octets.insert(octets.end(), more.begin(), more.end());
  s.octets(octets);
  const auto number = word.answered();
  if (original(s, first, number + 1) != kValue || original(s, second, number + 2) != kValue + 1) {
    throw Failed{"an original value equal to the result of the previous atomic",
                 "a different original value"};
  }
}

void between_reads(Script& s) {
  Word word(s);
  word.set(0);
  const auto read = read_of(word.memory(), word.to() - word.memory().to, 8);
  const Atomic swap{kCmpSwap, kAll, kAll, 0, 0};
  s.read_request(read);
  ask(s, swap, word.memory().stag, word.to());
  s.read_request(read);
  const auto before = s.expect(Opcode::kReadResponse).payload;
  original(s, swap, word.answered() + 1);
  const auto after = s.expect(Opcode::kReadResponse).payload;
  if (before != Octets(8) || after != Octets(8, std::byte{0xFF})) {
    throw Failed{
        "eight octets of 00 from the Read before the atomic, and eight octets of FF from the Read "
        "after the atomic",
        "other octets"};
  }
}

void behind_write(Script& s) {
  Word word(s);
  s.write(word.memory().stag, word.to(), Octets(8, std::byte{0x11}));
  word.expect(0x1111111111111111);
}

void beyond_agreed(Script& s) {
  Word word(s);
  if (s.peer_word().ird >= kMany)
    throw Skipped{"the peer's IRD is too large: the case cannot exceed it within one TCP segment"};
  Octets together;
  for (std::uint32_t n = 0; n < kMany; ++n) {
    const auto one =
        s.make(make_ulpdu(next_header(s), encode_atomic({}, word.memory().stag, word.to())));
    together.insert(together.end(), one.begin(), one.end());
  }
  s.octets(together);
  s.expect_terminate({ddp::kUntaggedNoBuffer, ddp::kUntaggedMsnRange, rdmap::kStreamCatastrophic});
}

// Invalid requests --------------------------------------------------------------------------------

template <std::uint8_t kOpcode>
void unsupported(Script& s) {
  Word word(s);
  ask(s, {.opcode = kOpcode}, word.memory().stag, word.to());
  s.expect_terminate(
      {rdmap::kUnexpectedOpcode, rdmap::kStreamCatastrophic, rdmap::kOperationUnspecified});
}

template <std::uint8_t kOpcode>
void misaligned(Script& s) {
  Word word(s);
  ask(s, {.opcode = kOpcode}, word.memory().stag, word.to() + 4);
  s.expect_terminate({rdmap::kStreamCatastrophic});
}

void expect_refused(Script& s, std::uint32_t stag, std::uint64_t to, Faults faults) {
  ask(s, {}, stag, to);
  const auto received = s.expect_terminate(faults);
  const auto flags = received.segment.payload()[2];
  if (flags != std::byte{0xC0})
    throw Failed{"M=1 D=1 R=0 in the Terminate", "other values of M, D and R"};
}

void unknown_stag(Script& s) {
  Word word(s);
  expect_refused(s, word.memory().stag ^ kUnknown, word.to(), {rdmap::kInvalidStag});
}

void before(Script& s) {
  Word word(s);
  expect_refused(s, word.memory().stag, word.to() - 8, {rdmap::kBounds});
}

void behind(Script& s) {
  Word word(s);
  const auto end = (word.memory().to + word.memory().length + 7) & ~std::uint64_t{7};
  expect_refused(s, word.memory().stag, end, {rdmap::kBounds});
}

void last_word_of_all(Script& s) {
  Word word(s);
  expect_refused(s, word.memory().stag, kAll - 7, {rdmap::kBounds, rdmap::kWrap});
}

template <std::size_t kSize>
void of_size(Script& s) {
  Word word(s);
  auto octets = encode_atomic({}, word.memory().stag, word.to());
  octets.resize(kSize);
  s.fpdu(make_ulpdu(next_header(s), octets));
  s.expect_end();
}

void unasked_response(Script& s) {
  agreed(s);
  auto header = untagged(Opcode::kSend, 1);
  header.qn = 3;
  header.rsvd_ulp = rdmap::kVersion | 0xB;
  s.fpdu(make_ulpdu(header, Octets(12)));
  s.expect_end();
}

void wrong_queue(Script& s) {
  Word word(s);
  auto header = untagged(Opcode::kSend, s.take_msn(Opcode::kSend));
  header.rsvd_ulp = rdmap::kVersion | 0xA;
  s.fpdu(make_ulpdu(header, encode_atomic({}, word.memory().stag, word.to())));
  expect_terminate_next(s, {rdmap::kUnexpectedOpcode, ddp::kUntaggedQn, ddp::kUntaggedTooLong});
}

void msn_of_reads(Script& s) {
  Word word(s);
  auto header = next_header(s);
  header.msn = {1};
  s.fpdu(make_ulpdu(header, encode_atomic({}, word.memory().stag, word.to())));
  s.expect_terminate({ddp::kUntaggedMsnRange});
}

void wrong_version(Script& s) {
  Word word(s);
  auto header = next_header(s);
  header.rsvd_ulp = 0x8A;
  s.fpdu(make_ulpdu(header, encode_atomic({}, word.memory().stag, word.to())));
  s.expect_terminate({rdmap::kVersionInvalid});
}

constexpr auto kAny = PeerRole::kEither;
constexpr auto kMust = Level::kMust;

// clang-format off
constexpr Case kCases[] = {
    {"ext/atomic/fetch-add", "RFC 7306 5.1.1", "EXT-6 EXT-12 EXT-31 EXT-33 EXT-19", "executes a FetchAdd, and returns the original value", kMust, kAny, fetch_add},
    {"ext/atomic/fetch-add-masked", "RFC 7306 5.1.1", "EXT-12", "drops the carry out of each field that the Add Mask defines", kMust, kAny, fetch_add_masked},
    {"ext/atomic/fetch-add-compare-ignored", "RFC 7306 5.2.1", "EXT-23", "ignores the Compare fields of a FetchAdd", kMust, kAny, fetch_add_compare_ignored},
    {"ext/atomic/cmp-swap", "RFC 7306 5.1.2", "EXT-6 EXT-14 EXT-31", "swaps on a CmpSwap if and only if the word equals the Compare Data", kMust, kAny, cmp_swap},
    {"ext/atomic/cmp-swap-masked", "RFC 7306 5.1.2", "EXT-14", "applies the Compare Mask and the Swap Mask of a CmpSwap", kMust, kAny, cmp_swap_masked},
    {"ext/atomic/reserved-bits", "RFC 7306 5.2.1", "EXT-22", "ignores the reserved bits of an Atomic Request", kMust, kAny, reserved_bits},
    {"ext/atomic/identifier", "RFC 7306 5.2.2", "EXT-37", "returns the Request Identifier unchanged", kMust, kAny, identifier},
    {"ext/atomic/two-at-once", "RFC 7306 7", "EXT-57 EXT-39 EXT-48", "executes two atomics from one TCP segment in order", kMust, kAny, two_at_once},
    {"ext/atomic/between-reads", "RFC 7306 7", "EXT-56 EXT-18 EXT-30", "answers Reads and atomics in the order of the requests", kMust, kAny, between_reads},
    {"ext/atomic/behind-write", "RFC 7306 5.4", "EXT-43 EXT-45", "executes an atomic on the data of the preceding Write", kMust, kAny, behind_write},
    {"ext/atomic/beyond-agreed", "RFC 7306 5.2.1", "EXT-25 EXT-34", "terminates when the tester exceeds the agreed number of outstanding atomics", kMust, kAny, beyond_agreed},
    {"ext/atomic/opcode-1", "RFC 7306 5.2.1", "EXT-27", "refuses atomic opcode 1, which is neither FetchAdd nor CmpSwap", kMust, kAny, unsupported<1>},
    {"ext/atomic/opcode-3", "RFC 7306 5.2.1", "EXT-27", "refuses atomic opcode 3, which is neither FetchAdd nor CmpSwap", kMust, kAny, unsupported<3>},
    {"ext/atomic/opcode-15", "RFC 7306 5.2.1", "EXT-27", "refuses atomic opcode 15, which is neither FetchAdd nor CmpSwap", kMust, kAny, unsupported<15>},
    {"ext/atomic/misaligned-fetch-add", "RFC 7306 8.2", "EXT-9 EXT-10 EXT-65 EXT-66", "terminates on a FetchAdd to a misaligned TO", kMust, kAny, misaligned<kFetchAdd>},
    {"ext/atomic/misaligned-cmp-swap", "RFC 7306 8.2", "EXT-15 EXT-17 EXT-65 EXT-66", "terminates on a CmpSwap to a misaligned TO", kMust, kAny, misaligned<kCmpSwap>},
    {"ext/atomic/unknown-stag", "RFC 7306 8.1", "EXT-67 EXT-61", "terminates on an atomic with an unknown STag", kMust, kAny, unknown_stag},
    {"ext/atomic/before", "RFC 7306 8.1", "EXT-67 EXT-61", "terminates on an atomic to a TO before the advertised memory", kMust, kAny, before},
    {"ext/atomic/behind", "RFC 7306 8.1", "EXT-67 EXT-61", "terminates on an atomic to a TO after the advertised memory", kMust, kAny, behind},
    {"ext/atomic/last-word", "RFC 7306 8.1", "EXT-67 EXT-61", "terminates on an atomic at TO 2^64 - 8", kMust, kAny, last_word_of_all},
    {"ext/atomic/request-short", "RFC 7306 5.2.1", "EXT-24 EXT-62", "ends the stream on an Atomic Request of 51 octets", kMust, kAny, of_size<51>},
    {"ext/atomic/request-long", "RFC 7306 5.2.1", "EXT-24 EXT-62", "ends the stream on an Atomic Request of 56 octets", kMust, kAny, of_size<56>},
    {"ext/atomic/unasked-response", "RFC 7306 5.2.2", "EXT-38", "ends the stream on an unsolicited Atomic Response", kMust, kAny, unasked_response},
    {"ext/atomic/queue-0", "RFC 7306 5.2.1", "EXT-28 EXT-18", "refuses an Atomic Request on queue 0", kMust, kAny, wrong_queue},
    {"ext/atomic/msn-of-reads", "RFC 7306 5.2", "EXT-18 EXT-62", "terminates on an Atomic Request whose MSN was used before", kMust, kAny, msn_of_reads},
    {"ext/atomic/version", "RFC 7306 8.2", "EXT-64", "terminates on an Atomic Request of RDMAP version 2", kMust, kAny, wrong_version},
};
// clang-format on

}  // namespace
}  // namespace rdmap_extension

std::span<const Case> extension_cases() { return rdmap_extension::kCases; }

}  // namespace iwarp::apps::conform
