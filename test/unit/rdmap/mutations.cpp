// SPDX-License-Identifier: Apache-2.0
// Sends every worked frame to a stream that expects it: with each bit flipped, truncated at each
// octet, or extended by one octet. The result must be a fault with its Terminate, or a tolerable
// value, and never an access outside the granted memory. Sanitizers also detect reads outside the
// frame.
#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

struct Frame {
  std::string name;
  Octets ulpdu;
};

/// Returns the worked frames, each as the first message of its queue.
std::vector<Frame> all_frames() {
  std::vector<Frame> out;
  for (const auto* file : {"messages.hex", "terminates.hex", "extensions.hex"}) {
    for (const auto& vector : iwarp::test::load_vectors(file)) {
      const auto octets = ulpdu_of(vector);
      const bool tagged = ddp::decode_segment_header(octets).value().tagged;
      out.push_back({vector.name, tagged ? octets : with_msn(octets, 1)});
    }
  }
  return out;
}

// A stream that accepts the unchanged frame: the frame has the first MSN, its STag is valid,
// and the Read that the frame answers is outstanding.
struct Expecting : Bench {
  explicit Expecting(const Octets& frame) : Bench({.extensions = true}) {
    ulp.writable = {{.stag = 0x11223344, .to = 0x100000000, .at = 64, .length = 32},
                    {.stag = 0x11223344, .to = 0x1000, .at = 1024, .length = 8}};
    ulp.readable = {{.stag = 0x11223344, .to = 0x1000, .at = 128, .length = 64}};
    ulp.receives = {ulp.memory(256, 32)};
    const auto header = ddp::decode_segment_header(frame).value();
    if (header.rsvd_ulp == control_octet(Opcode::kAtomicResponse)) {
      const auto id = bytes::load_be<std::uint32_t>(frame.data() + ddp::kUntaggedHeaderSize);
      ulp.requests.push_back({.opcode = Opcode::kAtomicRequest, .atomic = {.id = id}});
      REQUIRE(drain() == "a");
    } else {
      ulp.requests.push_back({.opcode = Opcode::kReadRequest,
                              .length = 64,
                              .sink_stag = Stag{0x55667788},
                              .sink_to = TaggedOffset{0x2000},
                              .sink = ulp.memory(512, 64)});
      REQUIRE(drain() == "1");
    }
    ulp.granted.emplace_back(ulp.memory(512, 64));
    ulp.log.clear();
    before = ulp.arena;
  }

  bool outside_untouched() const {
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i] == ulp.arena[i]) continue;
      const auto* at = &ulp.arena[i];
      const bool inside = std::ranges::any_of(ulp.granted, [at](bytes::View memory) {
        return at >= memory.data() && at < memory.data() + memory.size();
      });
      if (!inside) return false;
    }
    return true;
  }

  Octets before;
};

enum class Outcome { kFault, kTolerated };

Outcome try_mutation(const Octets& original, const Octets& changed) {
  Expecting bench(original);
  const auto fault = bench.feed(changed);
  CHECK(bench.outside_untouched());
  if (!fault) {
    // After a tolerated mutation, the stream still works.
    bench.drain(128);
    CHECK(bench.outside_untouched());
    return Outcome::kTolerated;
  }
  CHECK(bench.stream.state() == StreamState::kTerminating);
  const auto octets = bench.next();
  REQUIRE(octets);
  const auto t = decode_terminate(bytes::View(*octets).subspan(ddp::kUntaggedHeaderSize));
  REQUIRE(t);
  CHECK(t->fault == *fault);
  CHECK_FALSE(bench.next());
  return Outcome::kFault;
}

TEST_CASE(
    "a flipped bit is a fault or tolerated, and accesses only granted memory [DDP-78, DDP-95]") {
  std::size_t faults = 0;
  std::size_t tolerated = 0;
  for (const auto& [name, ulpdu] : all_frames()) {
    CAPTURE(name);
    for (std::size_t bit = 0; bit < ulpdu.size() * 8; ++bit) {
      CAPTURE(bit);
      auto changed = ulpdu;
      changed[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      ++(try_mutation(ulpdu, changed) == Outcome::kFault ? faults : tolerated);
    }
  }
  CHECK(faults > 1000);
  CHECK(tolerated > 500);
}

TEST_CASE("a truncated or extended frame is a fault or tolerated [DDP-78]") {
  for (const auto& [name, ulpdu] : all_frames()) {
    CAPTURE(name);
    for (std::size_t n = 0; n < ulpdu.size(); ++n) {
      // The copy has exactly the size of the frame, so that a sanitizer detects a read past its
      // end.
      const Octets cut(ulpdu.begin(), ulpdu.begin() + static_cast<std::ptrdiff_t>(n));
      const auto outcome = try_mutation(ulpdu, cut);
      const std::size_t header = (ulpdu[0] & std::byte{0x80}) != std::byte{0} ? 14 : 18;
      if (n < header) CHECK(outcome == Outcome::kFault);
    }
    auto longer = ulpdu;
    longer.resize(ulpdu.size() + 200, std::byte{0x5A});
    try_mutation(ulpdu, longer);
  }
}

TEST_CASE("every worked frame is accepted unchanged") {
  for (const auto& [name, ulpdu] : all_frames()) {
    CAPTURE(name);
    // The stream accepts every unchanged frame except C3, because C3 does not answer the
    // outstanding request.
    CHECK((try_mutation(ulpdu, ulpdu) == Outcome::kTolerated) == (name != "C3"));
  }
}

}  // namespace
}  // namespace iwarp::rdmap
