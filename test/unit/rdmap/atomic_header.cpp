// SPDX-License-Identifier: Apache-2.0
// Tests the arithmetic of Atomics; stream_atomics.cpp and vectors/worked_frames.cpp test their
// headers. The expected results come from a bit-by-bit model that follows the pseudocode of RFC
// 7306 section 5.1.
#include "iwarp/rdmap/atomic_header.hpp"

#include <random>

#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

constexpr std::uint64_t kAll = ~std::uint64_t{0};

TEST_CASE("a FetchAdd is sent with Compare Data 0 and Compare Mask all ones [EXT-23]") {
  const AtomicRequest request{.compare = 5, .compare_mask = 6};
  CHECK(text(bytes::View(encoded(request)).subspan(36)) == "00000000 00000000 ffffffff ffffffff");
}

// Reference ---------------------------------------------------------------------------------------

bool bit(std::uint64_t word, unsigned i) { return (word >> i & 1) != 0; }

std::uint64_t model_fetch_add(std::uint64_t original, std::uint64_t add, std::uint64_t mask) {
  std::uint64_t result = 0;
  unsigned carry = 0;
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned sum = unsigned{bit(original, i)} + unsigned{bit(add, i)} + carry;
    result |= std::uint64_t{sum & 1} << i;
    carry = bit(mask, i) ? 0 : sum >> 1;
  }
  return result;
}

std::uint64_t model_cmp_swap(std::uint64_t original, const AtomicRequest& r) {
  std::uint64_t swapped = 0;
  for (unsigned i = 0; i < 64; ++i) {
    if (bit(r.compare_mask, i) && bit(original, i) != bit(r.compare, i)) return original;
    swapped |= std::uint64_t{bit(r.mask, i) ? bit(r.add_or_swap, i) : bit(original, i)} << i;
  }
  return swapped;
}

// Draws a word that is dense, sparse, nearly full, made of a few whole fields, or a corner case.
std::uint64_t draw(std::mt19937_64& random) {
  switch (random() % 6) {
    case 0:
      return random() & random() & random();
    case 1:
      return random() | random() | random();
    case 2:
      return 0x8080808080808080 & (random() | random());
    case 3:
      return std::array<std::uint64_t, 4>{0, 1, kAll, std::uint64_t{1} << 63}[random() % 4];
    default:
      return random();
  }
}

TEST_CASE("FetchAdd gives the model's result for 100000 words, addends and masks [EXT-12]") {
  std::mt19937_64 random(7306);
  for (int i = 0; i < 100'000; ++i) {
    const auto original = draw(random);
    const AtomicRequest r{.add_or_swap = draw(random),
                          .mask = draw(random),
                          .compare = draw(random),  // FetchAdd ignores this value. [EXT-23]
                          .compare_mask = draw(random)};
    REQUIRE(apply(r, original) == model_fetch_add(original, r.add_or_swap, r.mask));
  }
}

TEST_CASE("CmpSwap gives the model's result for 100000 words, operands and masks [EXT-14]") {
  std::mt19937_64 random(14);
  std::size_t swaps = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto original = draw(random);
    AtomicRequest r{.opcode = AtomicOpcode::kCmpSwap,
                    .add_or_swap = draw(random),
                    .mask = draw(random),
                    .compare = draw(random),
                    .compare_mask = draw(random)};
    // Makes the comparison succeed in half of the rounds; with random values alone it would almost
    // never succeed.
    if (random() % 2 == 0) r.compare = original ^ (draw(random) & ~r.compare_mask);
    const auto expected = model_cmp_swap(original, r);
    swaps += expected != original ? 1 : 0;
    REQUIRE(apply(r, original) == expected);
  }
  CHECK(swaps > 30'000);
  CHECK(swaps < 90'000);
}

}  // namespace
}  // namespace iwarp::rdmap
