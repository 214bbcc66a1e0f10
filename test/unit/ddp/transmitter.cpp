// SPDX-License-Identifier: Apache-2.0
// Tests the segmentation of outbound messages (RFC 5041 section 5.2).
#include "iwarp/ddp/transmitter.hpp"

#include "support.hpp"

namespace iwarp::ddp {
namespace {

using namespace test;

constexpr std::size_t kSmallest = 128;
constexpr std::size_t kLargest = 64768;

std::vector<Segment> all_segments(Transmitter& transmitter, std::size_t mulpdu) {
  std::vector<Segment> out;
  while (!transmitter.idle()) out.push_back(transmitter.next(mulpdu));
  return out;
}

// Checks the rules that hold for every message and every MULPDU.
void check_message(const Message& message, const std::vector<Segment>& segments,
                   std::size_t mulpdu) {
  REQUIRE_FALSE(segments.empty());
  std::uint64_t offset = 0;
  for (const Segment& s : segments) {
    const bool last = &s == &segments.back();
    CHECK(s.header.version == 1);
    CHECK(s.header.tagged == message.tagged);
    CHECK(s.header.last == last);
    CHECK(s.header.rsvd_ulp == message.rsvd_ulp);
    CHECK(s.header.rsvd_ulp_rest == message.rsvd_ulp_rest);
    CHECK(s.offset == offset);
    const auto ulpdu = s.header.size() + s.length;
    CHECK(ulpdu <= mulpdu);
    if (!last) CHECK(ulpdu == mulpdu);  // Every segment but the last is full.
    if (message.tagged) {
      CHECK(s.header.stag == message.stag);
      CHECK(s.header.to.value == message.to.value + offset);
    } else {
      CHECK(s.header.qn == message.qn);
      CHECK(s.header.msn == segments.front().header.msn);
      CHECK(s.header.mo == offset);
    }
    offset += s.length;
  }
  CHECK(offset == message.length);
}

TEST_CASE(
    "a message is split into full segments in ascending order, or is one empty segment; only the "
    "last has the L bit [DDP-13, DDP-14, DDP-15, DDP-16, DDP-20, DDP-21, DDP-25, DDP-28, DDP-30, "
    "DDP-34, DDP-36, DDP-37, DDP-39, DDP-41, DDP-42, DDP-43, DDP-44, DDP-48, MPA-5, MPA-50]") {
  for (const bool is_tagged : {true, false}) {
    const std::size_t header = is_tagged ? kTaggedHeaderSize : kUntaggedHeaderSize;
    for (const std::size_t mulpdu : {kSmallest, std::size_t{1442}, std::size_t{8954}, kLargest}) {
      const std::size_t room = mulpdu - header;
      for (const std::size_t length :
           {std::size_t{0}, std::size_t{1}, room - 1, room, room + 1, 3 * room, 5 * room + 17}) {
        INFO("tagged ", is_tagged, ", mulpdu ", mulpdu, ", length ", length);
        const Message message{.tagged = is_tagged,
                              .rsvd_ulp = 0x4C,
                              .rsvd_ulp_rest = is_tagged ? 0u : 0xDEADBEEF,
                              .stag = Stag{0x01020304},
                              .to = TaggedOffset{0x77},
                              .qn = 3,
                              .length = static_cast<std::uint32_t>(length)};
        Transmitter transmitter;
        transmitter.start(message);
        CHECK_FALSE(transmitter.idle());
        const auto segments = all_segments(transmitter, mulpdu);
        CHECK(segments.size() == std::max<std::size_t>(1, (length + room - 1) / room));
        check_message(message, segments, mulpdu);
      }
    }
  }
}

TEST_CASE("TO carries into its upper 32 bits and wraps at 64 [DDP-43]") {
  Transmitter transmitter;
  transmitter.start({.tagged = true, .to = TaggedOffset{0xFFFFFFFF}, .length = 200});
  CHECK(transmitter.next(kSmallest).header.to.value == 0xFFFFFFFF);
  CHECK(transmitter.next(kSmallest).header.to.value == 0x100000071);
  transmitter.start({.tagged = true, .to = TaggedOffset{0xFFFFFFFFFFFFFFFF}, .length = 200});
  transmitter.next(kSmallest);
  CHECK(transmitter.next(kSmallest).header.to.value == 0x71);
}

TEST_CASE("the longest message reaches 2^32 - 1 octets [DDP-38, DDP-41]") {
  Transmitter transmitter;
  transmitter.start({.tagged = false, .length = 0xFFFFFFFF});
  Segment last;
  std::uint64_t sum = 0;
  while (!transmitter.idle()) {
    last = transmitter.next(kLargest);
    sum += last.length;
  }
  CHECK(sum == 0xFFFFFFFF);
  CHECK(last.header.mo == 0xFFFFFFFF - last.length);
}

TEST_CASE("MSN 0xFFFFFFFF is followed by 0, then 1 [DDP-33]") {
  Transmitter transmitter(Msn{0xFFFFFFFF});
  for (const std::uint32_t expected : {0xFFFFFFFFu, 0u, 1u}) {
    transmitter.start({.tagged = false, .qn = 0, .length = 1});
    CHECK(transmitter.next(kSmallest).header.msn.value == expected);
  }
}

}  // namespace
}  // namespace iwarp::ddp
