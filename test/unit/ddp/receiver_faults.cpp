// SPDX-License-Identifier: Apache-2.0
// Tests what the receiver refuses: values just inside and just outside each limit, with the exact
// error code (RFC 5041 section 7). Also tests that the receiver accepts nothing after a fault.
#include "support.hpp"

namespace iwarp::ddp {
namespace {

using namespace test;

// A receiver in the middle of message 7 on queue 0: 10 of the buffer's 20 octets have arrived.
struct MidMessage : Bench {
  Octets memory = Octets(20);
  MidMessage() {
    for (std::uint32_t msn = 1; msn < 7; ++msn) REQUIRE(feed(segment(untagged(0, msn))));
    sink.buffer = {bytes::Span(memory)};
    REQUIRE(feed(segment(untagged(0, 7, 0, false), pattern(10))));
    sink.log.clear();
    sink.deliveries.clear();
  }
};

TEST_CASE("the table of DDP's Terminate codes [DDP-83]") {
  const std::pair<Fault, const char*> codes[] = {
      {kDdpCatastrophic, "1/0/00"},  {kTaggedInvalidStag, "1/1/00"},
      {kTaggedBounds, "1/1/01"},     {kTaggedNotAssociated, "1/1/02"},
      {kTaggedWrap, "1/1/03"},       {kTaggedVersion, "1/1/04"},
      {kUntaggedQn, "1/2/01"},       {kUntaggedNoBuffer, "1/2/02"},
      {kUntaggedMsnRange, "1/2/03"}, {kUntaggedMo, "1/2/04"},
      {kUntaggedTooLong, "1/2/05"},  {kUntaggedVersion, "1/2/06"}};
  for (const auto& [fault, code] : codes) {
    CHECK(fmt::format("{}/{}/{:02x}", static_cast<int>(fault.layer), fault.type, fault.code) ==
          code);
  }
}

TEST_CASE("a message must be shorter than 2^32 octets in any buffer [DDP-38, DDP-71]") {
  Bench bench;
  std::byte first{};
  // The receiver never accesses this memory: only its arithmetic is tested.
  const bytes::Span huge(&first, std::size_t{1} << 33);
  bench.sink.buffer = {huge};
  constexpr std::uint32_t kStep = 64768 - kUntaggedHeaderSize;
  const auto begin_at = [&](std::uint32_t mo, std::size_t length) {
    const auto header = segment(untagged(0, 1, mo, false));
    return bench.receiver.begin(bench.sink, header, header.size() + length);
  };
  std::uint32_t mo = 0;
  while (0xFFFFFFFF - mo >= kStep) {
    REQUIRE(begin_at(mo, kStep));
    REQUIRE(bench.receiver.end(bench.sink));
    mo += kStep;
  }
  const auto left = 0xFFFFFFFF - mo;
  CHECK(begin_at(mo, left));
  CHECK(fault_of(begin_at(mo, left + 1)) == kUntaggedTooLong);
}

TEST_CASE(
    "whatever the sink refuses, its answer is the fault [DDP-24, DDP-68, DDP-73, DDP-74, DDP-75, "
    "DDP-76, DDP-77]") {
  const Fault mine{Layer::kRdma, 2, 0x06, "mine"};
  SUBCASE("admission is checked before STag, MSN and buffer") {
    for (const auto& octets : {segment(tagged(1, 1), pattern(3)), segment(untagged(0, 9, 5))}) {
      Bench bench;
      bench.sink.refuse_admission = mine;
      CHECK(fault_of(bench.feed(octets)) == mine);
      CHECK(bench.sink.take_log() == Log{"admit"});
    }
  }
  SUBCASE("the tagged buffer") {
    for (const auto& why : {kTaggedInvalidStag, kTaggedBounds, kTaggedNotAssociated, kTaggedWrap}) {
      Bench bench;
      bench.sink.refuse_target = why;
      CHECK(fault_of(bench.feed(segment(tagged(1, 1), pattern(3)))) == why);
    }
  }
  SUBCASE("the untagged buffer") {
    Bench bench;
    bench.sink.refuse_buffer = kUntaggedNoBuffer;
    CHECK(fault_of(bench.feed(segment(untagged(0, 1), pattern(3)))) == kUntaggedNoBuffer);
  }
  SUBCASE("the delivery") {
    Bench bench;
    bench.sink.refuse_delivery = mine;
    CHECK(fault_of(bench.feed(segment(untagged(0, 1)))) == mine);
  }
}

TEST_CASE("the version is checked before the sink is called [DDP-20, DDP-83]") {
  Bench bench;
  bench.sink.refuse_admission = kUntaggedQn;
  SegmentHeader header = untagged(9, 9, 9);
  header.version = 0;
  CHECK(fault_of(bench.feed(segment(header, pattern(1)))) == kUntaggedVersion);
  CHECK(bench.sink.log.empty());
}

TEST_CASE("a ULPDU cut anywhere in its header is DDP's local catastrophic error [DDP-7]") {
  for (const auto& whole : {segment(tagged(1, 1)), segment(untagged(0, 1))}) {
    for (std::size_t n = 0; n < whole.size(); ++n) {
      Bench bench;
      const Octets cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      CHECK(fault_of(bench.begin(cut)) == kDdpCatastrophic);
      CHECK(describe_segment(cut) == fmt::format("DDP truncated ({} octets)", n));
      CHECK(bench.sink.log.empty());
    }
  }
}

TEST_CASE("describe names the fields, and a version other than 1") {
  CHECK(describe_segment(segment(tagged(0xAB, 0x1000), pattern(5))) ==
        "DDP tagged last STag=0x000000ab TO=0x1000 payload=5");
  CHECK(describe_segment(segment(untagged(1, 7, 20, false), pattern(2))) ==
        "DDP untagged QN=1 MSN=7 MO=20 payload=2");
  auto wrong = tagged(1, 0);
  wrong.version = 2;
  CHECK(describe_segment(segment(wrong)).ends_with(" DV=2 payload=0"));
}

TEST_CASE("after a fault the sink is not called [DDP-55, DDP-65, DDP-81]") {
  MidMessage bench;
  CHECK(fault_of(bench.feed(segment(untagged(0, 9), pattern(1)))) == kUntaggedMsnRange);
  bench.sink.log.clear();
  for (const auto& octets : {segment(untagged(0, 7, 10), pattern(10)), segment(tagged(1, 1)),
                             segment(untagged(4, 1)), Octets{}}) {
    CHECK(fault_of(bench.feed(octets)) == kUntaggedMsnRange);
  }
  CHECK(fault_of(bench.receiver.end(bench.sink)) == kUntaggedMsnRange);
  CHECK(bench.sink.log.empty());
  CHECK(bench.sink.deliveries.empty());
}

TEST_CASE("after the sink has refused a delivery, everything later is refused too [DDP-81]") {
  Bench bench;
  bench.sink.refuse_delivery = kUntaggedNoBuffer;
  CHECK_FALSE(bench.feed(segment(untagged(0, 1))));
  bench.sink.refuse_delivery.reset();
  bench.sink.log.clear();
  CHECK(fault_of(bench.feed(segment(untagged(0, 2)))) == kUntaggedNoBuffer);
  CHECK(bench.sink.log.empty());
}

TEST_CASE("the header of the segment that caused the fault can still be read [DDP-80]") {
  Bench bench;
  CHECK_FALSE(bench.feed(segment(untagged(1, 5, 6), pattern(1))));
  CHECK(bench.receiver.current().qn == 1);
  CHECK(bench.receiver.current().msn == Msn{5});
  CHECK(bench.receiver.current().mo == 6);
}

}  // namespace
}  // namespace iwarp::ddp
