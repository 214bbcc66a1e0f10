// SPDX-License-Identifier: Apache-2.0
// Tests how the receiver places and delivers valid segments (RFC 5041 sections 5.3 and 5.4).
#include "iwarp/ddp/receiver.hpp"

#include "support.hpp"

namespace iwarp::ddp {
namespace {

using namespace test;

TEST_CASE("a delivery carries the RsvdULP of its last segment [DDP-23, DDP-28, DDP-29, DDP-54]") {
  Bench bench;
  Octets memory(8);
  bench.sink.buffer = {bytes::Span(memory)};
  auto first = untagged(0, 1, 0, false);
  first.rsvd_ulp_rest = 1;
  auto last = untagged(0, 1, 4, true);
  last.rsvd_ulp = 0x44;
  last.rsvd_ulp_rest = 0xCAFE;
  CHECK(bench.feed(segment(first, pattern(4))));
  CHECK(bench.feed(segment(last, pattern(4))));
  REQUIRE(bench.sink.deliveries.size() == 1);
  CHECK(bench.sink.deliveries[0].header.rsvd_ulp == 0x44);
  CHECK(bench.sink.deliveries[0].header.rsvd_ulp_rest == 0xCAFE);
  CHECK(bench.sink.deliveries[0].header.last);
}

TEST_CASE("a buffer of several pieces is filled across their borders [DDP-40]") {
  Octets memory(64, std::byte{0xEE});
  const auto piece = [&](std::size_t at, std::size_t n) {
    return bytes::Span(memory).subspan(at, n);
  };
  const auto payload = pattern(23, 9);
  // Cuts 23 octets of payload into two segments at every possible position. The pieces of the
  // buffer have 1, 0, 7 and 15 octets.
  for (std::size_t cut = 0; cut <= payload.size(); ++cut) {
    Bench bench;
    bench.sink.buffer = {piece(0, 1), piece(10, 0), piece(20, 7), piece(40, 15)};
    const auto view = bytes::View(payload);
    CHECK(bench.feed(segment(untagged(0, 1, 0, false), view.first(cut))));
    CHECK(bench.feed(segment(untagged(0, 1, static_cast<std::uint32_t>(cut)), view.subspan(cut))));
    Octets got{memory[0]};
    got.insert(got.end(), memory.begin() + 20, memory.begin() + 27);
    got.insert(got.end(), memory.begin() + 40, memory.begin() + 55);
    CHECK(got == payload);
    for (const std::size_t guard : {1u, 10u, 19u, 27u, 39u, 55u})
      CHECK(memory[guard] == std::byte{0xEE});
    std::fill(memory.begin(), memory.end(), std::byte{0xEE});
  }
}

TEST_CASE("tagged segments between those of an untagged message do not affect it [DDP-51]") {
  Bench bench;
  Octets memory(20);
  Octets target(20);
  bench.sink.buffer = {bytes::Span(memory)};
  bench.sink.tagged_memory = {bytes::Span(target)};
  CHECK(bench.feed(segment(untagged(0, 1, 0, false), pattern(10, 1))));
  CHECK(bench.feed(segment(tagged(5, 3), pattern(7, 50))));
  CHECK(bench.feed(segment(tagged(5, 10, false), pattern(2, 60))));
  CHECK(bench.feed(segment(untagged(0, 1, 10), pattern(10, 11))));
  CHECK(bench.feed(segment(tagged(5, 12), pattern(1, 62))));
  CHECK(bench.sink.take_log() == Log{"admit", "buffer 0 1",                        //
                                     "admit", "target 00000005 3 7", "deliver 7",  //
                                     "admit", "target 00000005 a 2",               //
                                     "admit", "deliver 20",                        //
                                     "admit", "target 00000005 c 1", "deliver 1"});
  CHECK(bytes::to_hex(bytes::View(target).subspan(3, 10), 0) ==
        bytes::to_hex(pattern(7, 50), 0) + bytes::to_hex(pattern(2, 60), 0) +
            bytes::to_hex(pattern(1, 62), 0));
}

TEST_CASE("the MSN that follows 0xFFFFFFFF is 0 [DDP-33]") {
  Bench bench;
  bench.receiver = Receiver(Msn{0xFFFFFFFF});
  for (const std::uint32_t msn : {0xFFFFFFFFu, 0u, 1u})
    CHECK(bench.feed(segment(untagged(0, msn))));
  CHECK(bench.sink.deliveries.size() == 3);
}

}  // namespace
}  // namespace iwarp::ddp
