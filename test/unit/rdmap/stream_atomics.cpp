// SPDX-License-Identifier: Apache-2.0
// Tests Atomics from both ends: the responder executes requests in order and answers them, and the
// requester checks the responses (RFC 7306 sections 5, 7 and 8).
#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

constexpr std::uint32_t kStag = 0x11223344;

Octets add_one(std::uint32_t msn, std::uint64_t to = 0x1000) {
  const AtomicRequest request{
      .id = msn, .stag = Stag{kStag}, .to = TaggedOffset{to}, .add_or_swap = 1};
  return segment(untagged_header(msn, Opcode::kAtomicRequest), encoded(request));
}
Octets atomic_response(std::uint32_t msn, std::uint32_t id, std::size_t size = 12) {
  Octets payload(size);
  if (size >= 4) bytes::store_be(payload.data(), id);
  return segment(untagged_header(msn, Opcode::kAtomicResponse), payload);
}

// Responder ---------------------------------------------------------------------------------------

struct AtomicResponder : Bench {
  explicit AtomicResponder(std::size_t ird = 16) : Bench({.ird = ird, .extensions = true}) {
    ulp.writable = {{.stag = kStag, .to = 0x1000, .at = 0, .length = 1024}};
    ulp.readable = ulp.writable;
    set(0);
  }
  void set(std::uint64_t value) { bytes::store_be(ulp.arena.data(), value); }
  std::uint64_t word() const { return bytes::load_be<std::uint64_t>(ulp.arena.data()); }
};

TEST_CASE(
    "frames J and J2 are answered with frames K and K2, and the ULP sees only the memory [EXT-8, "
    "EXT-14, EXT-19, EXT-20, EXT-25, EXT-26, EXT-31, EXT-33, EXT-37]") {
  AtomicResponder bench;
  bench.set(41);
  CHECK_FALSE(bench.feed(with_msn(extension("J"), 1)));
  CHECK(bench.ulp.log.empty());  // The request is executed only when its response is due.
  CHECK(bench.stream.inbound_reads() == 1);
  CHECK(bench.next_text() == text(extension("K")));
  CHECK(bench.word() == 42);
  CHECK_FALSE(bench.feed(with_msn(extension("J2"), 2)));
  CHECK(bench.next_text() == text(extension("K2")));
  CHECK(bench.word() == 99);
  CHECK(bench.ulp.take_log() == Log{"atomic 11223344 1000", "atomic 11223344 1000"});
  CHECK(bench.stream.inbound_reads() == 0);
  CHECK_FALSE(bench.next());
}

TEST_CASE("an Atomic Request may come in segments, but neither shorter nor longer [EXT-62]") {
  const auto whole = add_one(1);
  for (std::size_t cut = 0; cut <= kAtomicRequestSize; ++cut) {
    AtomicResponder bench;
    const auto [first, second] = split(whole, cut);
    CHECK_FALSE(bench.feed(first));
    CHECK(bench.drain().empty());  // The request is executed only after its delivery. [EXT-45]
    CHECK_FALSE(bench.feed(second));
    CHECK(bench.drain() == "b");
    CHECK(bench.word() == 1);
  }
  for (std::size_t n = 0; n < kAtomicRequestSize; ++n) {
    AtomicResponder bench;
    CHECK(bench.feed(bytes::View(whole).first(18 + n)) == kOperationUnspecified);
  }
  AtomicResponder bench;
  auto longer = whole;
  longer.push_back(std::byte{0});
  CHECK(bench.feed(longer) == ddp::kUntaggedTooLong);
}

TEST_CASE("a request that begins as one kind and ends as the other uses no stale octets") {
  const auto atomic = add_one(1);
  const auto read = read_request(1, {.sink_stag = Stag{1},
                                     .size = 8,
                                     .source_stag = Stag{kStag},
                                     .source_to = TaggedOffset{0x1000}});
  for (const bool atomic_first : {true, false}) {
    AtomicResponder bench;
    const auto& opener = atomic_first ? atomic : read;
    const auto& closer = atomic_first ? read : atomic;
    auto first = ddp::decode_segment_header(opener).value();
    first.last = false;
    auto second = ddp::decode_segment_header(closer).value();
    second.mo = 4;
    CHECK_FALSE(bench.feed(segment(first, bytes::View(opener).subspan(18, 4))));
    const auto rest = bytes::View(closer).subspan(22);
    const auto fault = bench.feed(segment(second, rest));
    if (atomic_first) {
      // 28 octets are a complete Read Request, however they are split into segments.
      CHECK_FALSE(fault);
      CHECK(bench.stream.inbound_reads() == 1);
    } else {
      CHECK(fault == ddp::kUntaggedTooLong);
    }
  }
}

// Requester ---------------------------------------------------------------------------------------

struct AtomicRequester : Bench {
  explicit AtomicRequester(std::size_t ord = 16) : Bench({.ord = ord, .extensions = true}) {}
  void add(std::uint32_t id, std::uint64_t cookie = 0) {
    ulp.requests.push_back(
        {.opcode = Opcode::kAtomicRequest,
         .atomic = {.id = id, .stag = Stag{kStag}, .to = TaggedOffset{0x1000}, .add_or_swap = 1},
         .cookie = cookie});
  }
  void read() {
    ulp.requests.push_back({.opcode = Opcode::kReadRequest, .sink_stag = Stag{9}, .cookie = 7});
  }
};

TEST_CASE("frame K completes frame J [EXT-18, EXT-24, EXT-28, EXT-32, EXT-36, EXT-47]") {
  AtomicRequester bench;
  bench.add(0xCAFE0001, 5);
  CHECK(bench.next_text() == text(with_msn(extension("J"), 1)));
  // Sending the request does not complete it. [EXT-41]
  CHECK(bench.ulp.take_log() == Log{"sent 5"});
  CHECK_FALSE(bench.feed(extension("K")));
  CHECK(bench.ulp.take_log() == Log{"atomic 5 29"});
}

TEST_CASE("a response that does not answer the oldest request is refused [EXT-38]") {
  const auto read_response = segment(tagged_header(Opcode::kReadResponse, 9, 0));
  struct Row {
    const char* outstanding;  ///< an opcode for each request; the atomics have the ids 1, 2, ...
    Octets response;
    Fault fault;
  };
  const Row rows[] = {{"aa", atomic_response(1, 2), kOperationUnspecified},
                      {"", atomic_response(1, 0), kUnexpectedOpcode},
                      {"1a", atomic_response(1, 1), kUnexpectedOpcode},
                      {"a1", read_response, kUnexpectedOpcode}};
  for (const Row& row : rows) {
    CAPTURE(row.outstanding);
    AtomicRequester bench;
    std::uint32_t id = 0;
    for (const char opcode : std::string_view(row.outstanding)) {
      opcode == 'a' ? bench.add(++id) : bench.read();
    }
    CHECK(bench.drain() == row.outstanding);
    bench.ulp.take_log();
    CHECK(bench.feed(row.response) == row.fault);
    CHECK(bench.ulp.log.empty());
  }
  AtomicRequester again;
  again.add(1);
  again.add(1);
  CHECK(again.drain() == "aa");
  CHECK_FALSE(again.feed(atomic_response(1, 1)));
  CHECK(again.feed(atomic_response(1, 1)) == ddp::kUntaggedMsnRange);
}

TEST_CASE("a response has exactly 12 octets, also in several segments [EXT-32, EXT-38]") {
  for (std::size_t size = 0; size < 20; ++size) {
    AtomicRequester bench;
    bench.add(1);
    CHECK(bench.drain() == "a");
    const auto fault = bench.feed(atomic_response(1, 1, size));
    if (size < 12) CHECK(fault == kOperationUnspecified);
    if (size == 12) CHECK_FALSE(fault);
    if (size > 12) CHECK(fault == ddp::kUntaggedTooLong);
  }
  for (std::size_t cut = 0; cut <= 12; ++cut) {
    AtomicRequester bench;
    bench.add(0xCAFE0001);
    CHECK(bench.drain() == "a");
    const auto [first, second] = split(extension("K"), cut);
    bench.ulp.take_log();
    CHECK_FALSE(bench.feed(first));
    CHECK(bench.ulp.log.empty());
    CHECK_FALSE(bench.feed(second));
    CHECK(bench.ulp.take_log() == Log{"atomic 0 29"});
  }
}

}  // namespace
}  // namespace iwarp::rdmap
