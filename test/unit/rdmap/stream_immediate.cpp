// SPDX-License-Identifier: Apache-2.0
// Tests Immediates of a stream, on their own and with the value of the Send after them, on streams
// whose ends negotiated that extension: the ULP sees one message. Every deviation by a peer causes
// the same Terminate, and no octet is placed outside granted memory.
#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

struct Agreed : Bench {
  Agreed() : Bench({.extensions = true}) {
    for (std::size_t i = 0; i < 4; ++i) ulp.receives.push_back(ulp.memory(i * 16, 16));
  }
};

Octets immediate(std::uint32_t msn, std::size_t size, std::uint32_t invalidate = 0) {
  return segment(untagged_header(msn, Opcode::kImmediate, invalidate), pattern(size, 1));
}

TEST_CASE("an Immediate is sent as frame I [EXT-3, EXT-49, EXT-52]") {
  Agreed bench;
  bench.ulp.requests.push_back(
      {.opcode = Opcode::kImmediateSolicited, .immediate = 0x0102030405060708, .cookie = 4});
  CHECK(bench.next_text() == text(with_msn(extension("I"), 1)));
  CHECK(bench.ulp.take_log() == Log{"sent 4"});
  bench.ulp.requests.push_back({.opcode = Opcode::kImmediate, .immediate = 9});
  CHECK(bench.next_text() == "41480000 00000000 00000000 00020000 00000000 00000000 0009");
}

TEST_CASE("the InvSTag field of an Immediate is ignored [EXT-3]") {
  Agreed bench;
  bench.ulp.refuse_invalidate = true;
  CHECK_FALSE(bench.feed(immediate(1, 8, 0xDEADBEEF)));
  REQUIRE(bench.ulp.received.size() == 1);
  CHECK_FALSE(bench.ulp.received[0].invalidate);
}

TEST_CASE("a message that begins as a Send and ends as an Immediate, or the reverse, is 0/2/06") {
  for (const bool send_first : {true, false}) {
    Agreed bench;
    const auto a = send_first ? Opcode::kSend : Opcode::kImmediate;
    const auto b = send_first ? Opcode::kImmediate : Opcode::kSend;
    auto first = untagged_header(1, a);
    first.last = false;
    auto second = untagged_header(1, b);
    second.mo = 4;
    CHECK_FALSE(bench.feed(segment(first, pattern(4))));
    CHECK(bench.feed(segment(second, pattern(4))) == kUnexpectedOpcode);
    CHECK(bench.ulp.received.empty());
  }
}

using namespace test;

constexpr std::uint64_t kValue = 0x01020304ULL << 32;
constexpr std::uint64_t kAnnouncement = kValue | kOfNextSend;

struct Together : Bench {
  explicit Together(bool agreed = true)
      : Bench({.ird = 4, .ord = 4, .extensions = true, .send_immediate = agreed}) {
    for (std::size_t i = 0; i < 4; ++i) ulp.receives.push_back(ulp.memory(i * 16, 16));
    ulp.writable = {{.stag = 0x11, .to = 0, .at = 1024, .length = 64}};
    ulp.readable = {{.stag = 0x22, .to = 0, .at = 2048, .length = 64}};
  }
  Request read() {
    return {.opcode = Opcode::kReadRequest,
            .length = 4,
            .stag = Stag{7},
            .sink_stag = Stag{8},
            .sink = ulp.memory(3072, 4),
            .cookie = 1};
  }
};

Octets immediate_frame(std::uint32_t msn, std::uint64_t value, Opcode opcode = Opcode::kImmediate) {
  Octets payload(kImmediateSize);
  bytes::store_be(payload.data(), value);
  return segment(untagged_header(msn, opcode), payload);
}

Octets announcement(std::uint32_t msn = 1) { return immediate_frame(msn, kAnnouncement); }

TEST_CASE("a Send and the Immediate before it consume one receive and are one message") {
  for (const auto opcode : {Opcode::kSend, Opcode::kSendSolicited}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{16}}) {
      Together bench;
      CHECK_FALSE(bench.feed(announcement()));
      CHECK(bench.stream.awaits_send());
      CHECK(bench.ulp.received.empty());
      CHECK_FALSE(bench.feed(segment(untagged_header(2, opcode), pattern(size, 3))));
      CHECK_FALSE(bench.stream.awaits_send());
      CHECK(bench.ulp.log == Log{"receive", "receive again", fmt::format("send {}", size)});
      REQUIRE(bench.ulp.received.size() == 1);
      const auto& got = bench.ulp.received[0];
      CHECK(got.opcode == opcode);
      CHECK(got.length == size);
      CHECK(got.immediate == kAnnouncement);
      CHECK(got.solicited == (opcode == Opcode::kSendSolicited));
      CHECK(text(bench.ulp.memory(0, size)) == text(pattern(size, 3)));
      CHECK(bench.ulp.receives.size() == 3);
    }
  }
}

TEST_CASE("if agreed, an empty Write may acknowledge requests that precede a waiting Send") {
  const auto empty_write = [](std::uint32_t stag, std::uint64_t to) {
    return segment(tagged_header(Opcode::kWrite, stag, to));
  };
  for (const bool agreed : {true, false}) {
    Together bench(agreed);
    CHECK_FALSE(bench.feed(empty_write(1, 0x68656C64'00000005)));
    CHECK(bench.ulp.log == (agreed ? Log{"delivered before 5"} : Log{}));
    bench.ulp.log.clear();
    CHECK_FALSE(bench.feed(empty_write(2, 0x68656C64'00000005)));
    CHECK_FALSE(bench.feed(empty_write(1, 0x68656C65'00000005)));
    CHECK_FALSE(bench.feed(empty_write(1, 5)));
    CHECK(bench.ulp.log.empty());
  }
}

TEST_CASE("the Send may come in many segments, and the Send after it is a message of its own") {
  Together bench;
  CHECK_FALSE(bench.feed(announcement()));
  const auto data = pattern(12, 9);
  for (std::uint32_t at = 0; at < 12; at += 3) {
    auto header = untagged_header(2);
    header.mo = at;
    header.last = at == 9;
    CHECK_FALSE(bench.feed(segment(header, bytes::View(data).subspan(at, 3))));
  }
  CHECK_FALSE(bench.feed(segment(untagged_header(3), pattern(4))));
  CHECK_FALSE(bench.feed(immediate_frame(4, 77)));
  REQUIRE(bench.ulp.received.size() == 3);
  CHECK(bench.ulp.received[0].immediate == kAnnouncement);
  CHECK(text(bench.ulp.memory(0, 12)) == text(data));
  CHECK(bench.ulp.received[1].immediate == 0);
  CHECK(bench.ulp.received[2].immediate == 77);
}

TEST_CASE("an Immediate that announces no Send is a message of its own, with any octets") {
  for (const std::uint64_t low : {0x00000000ULL, 0x80000000ULL, 0xC0000001ULL, 0x40000000ULL}) {
    Together bench;
    CHECK_FALSE(bench.feed(immediate_frame(1, kValue | low)));
    CHECK_FALSE(bench.stream.awaits_send());
    CHECK(bench.ulp.received.size() == 1);
  }
}

TEST_CASE("answers to requests, and a Terminate, may come between the Immediate and its Send") {
  Together bench;
  bench.ulp.requests.push_back(bench.read());
  REQUIRE(bench.next());
  CHECK_FALSE(bench.feed(announcement()));
  CHECK_FALSE(bench.feed(segment(tagged_header(Opcode::kReadResponse, 8, 0), pattern(4))));
  CHECK_FALSE(bench.feed(segment(untagged_header(2), pattern(5))));
  CHECK(bench.ulp.received.size() == 1);
  CHECK_FALSE(bench.feed(announcement(3)));
  CHECK_FALSE(bench.feed(terminate_frame("N7")));
  CHECK(bench.stream.peer_terminate());
}

TEST_CASE("any other message between the Immediate and its Send is 0/2/06, and is not executed") {
  const std::vector<std::pair<const char*, Octets>> kStrangers{
      {"another announcement", announcement(2)},
      {"an Immediate", immediate_frame(2, 5)},
      {"a solicited one", immediate_frame(2, kAnnouncement, Opcode::kImmediateSolicited)},
      {"a Write", segment(tagged_header(Opcode::kWrite, 0x11, 0), pattern(8))},
      {"an empty Write", segment(tagged_header(Opcode::kWrite, 0, 0))},
      {"a Read Request", read_request(1, {.size = 8, .source_stag = Stag{0x22}})},
      {"a Send with Invalidate",
       segment(untagged_header(2, Opcode::kSendInvalidate, 5), pattern(4))},
      {"a solicited one that invalidates",
       segment(untagged_header(2, Opcode::kSendSolicitedInvalidate, 5), pattern(4))},
      {"an Atomic Request", [] {
         auto octets = extension("J");
         octets[13] = std::byte{1};
         return octets;
       }()}};
  for (const auto& [name, frame] : kStrangers) {
    CAPTURE(name);
    Together bench;
    const auto before = bench.ulp.arena;
    CHECK_FALSE(bench.feed(announcement()));
    CHECK(bench.feed(frame) == kUnexpectedOpcode);
    CHECK(bench.ulp.received.empty());
    CHECK(bench.ulp.log == Log{"receive"});
    CHECK(bench.ulp.arena == before);
    CHECK(bench.stream.state() == StreamState::kTerminating);
  }
}

TEST_CASE("another message between the segments of an announced Send is 0/2/06 as well") {
  Together bench;
  CHECK_FALSE(bench.feed(announcement()));
  auto first = untagged_header(2);
  first.last = false;
  CHECK_FALSE(bench.feed(segment(first, pattern(4))));
  CHECK(bench.feed(segment(tagged_header(Opcode::kWrite, 0x11, 0), pattern(8))) ==
        kUnexpectedOpcode);
  CHECK(bench.ulp.received.empty());
}

TEST_CASE("the receive limits the length of an announced Send as of any other [RDMAP-51]") {
  Together bench;
  CHECK_FALSE(bench.feed(announcement()));
  CHECK(bench.feed(segment(untagged_header(2), pattern(17))) == ddp::kUntaggedTooLong);
  CHECK(bench.ulp.received.empty());
  CHECK(bench.ulp.arena[16] == std::byte{0xEE});
}

TEST_CASE("the eight octets of the Immediate may come in two segments") {
  Together bench;
  const auto [first, second] = split(announcement(), 4);
  CHECK_FALSE(bench.feed(first));
  CHECK_FALSE(bench.feed(second));
  CHECK(bench.stream.awaits_send());
}

}  // namespace
}  // namespace iwarp::rdmap
