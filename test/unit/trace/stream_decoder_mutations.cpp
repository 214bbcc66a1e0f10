// SPDX-License-Identifier: Apache-2.0
// Splits and alters streams at every octet. The decoder must never accept an altered FPDU as valid.
// The fuzz target `explain` tests that it reports every octet once.
#include <doctest/doctest.h>

#include "support.hpp"
#include "vectors.hpp"

namespace iwarp::test {
namespace {

using namespace trace;

/// Returns a script in which the near end sends matching startup frames and then one vector. If the
/// vector is from the middle of a stream with markers, an FPDU of suitable size precedes it.
WireScript around(const Vector& vector) {
  auto script = WireScript::started({false, vector.position.has_value(), true});
  if (vector.position.value_or(0) != 0) {
    // The overhead of the preceding FPDU is a leading marker, the length, a header and a trailer.
    // Positions 492 and 512 are both multiples of 4.
    const std::size_t overhead = 4 + 2 + 14 + 4;
    script.tagged(true, rdmap::Opcode::kWrite, 1, 0, counting(*vector.position - overhead));
  }
  script.sent.push_back({true, vector.octets});
  return script;
}

std::vector<WireScript> scripts() {
  std::vector<WireScript> out;
  for (const auto* file : {"messages.hex", "terminates.hex", "extensions.hex", "marked.hex"}) {
    for (const auto& vector : load_vectors(file)) out.push_back(around(vector));
  }
  return out;
}

TEST_CASE("every vector that is split in two at any octet gives the same frame") {
  for (const auto& script : scripts()) {
    const auto& last = script.sent.back().octets;
    for (std::size_t cut = 0; cut <= last.size(); ++cut) {
      Observer observer;
      observer.see(script, script.sent.size() - 1);
      observer.see(true, bytes::View(last).first(cut));
      observer.see(true, bytes::View(last).subspan(cut));
      REQUIRE(observer.found.size() == script.sent.size());
      REQUIRE(observer.found.back().octets == last);
      REQUIRE(observer.count(CrcVerdict::kGood) == script.sent.size() - 2);
    }
  }
}

TEST_CASE("with any bit of any vector flipped, the FPDU is bad and no octet is lost [MPA-43]") {
  for (auto& script : scripts()) {
    const std::size_t good = script.sent.size() - 3;
    auto& last = script.sent.back().octets;
    for (std::size_t bit = 0; bit < 8 * last.size(); ++bit) {
      last[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      Observer observer;
      observer.see(script);
      observer.decoder.ended(Side::kNear);
      REQUIRE(observer.count(CrcVerdict::kGood) == good);
      REQUIRE(observer.stream(Side::kNear) == stream_of(script, true));
      last[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
  }
}

}  // namespace
}  // namespace iwarp::test
