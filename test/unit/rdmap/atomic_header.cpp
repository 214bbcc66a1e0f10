// SPDX-License-Identifier: Apache-2.0
// Tests the headers of Atomics and their arithmetic. The expected results come from a bit-by-bit
// model that follows the pseudocode of RFC 7306 section 5.1.
#include "iwarp/rdmap/atomic_header.hpp"

#include <random>

#include "support.hpp"

namespace iwarp::rdmap {
namespace {

using namespace test;

constexpr std::uint64_t kAll = ~std::uint64_t{0};

bytes::View rdmap_payload_of(const Octets& ulpdu) {
  return bytes::View(ulpdu).subspan(ddp::kUntaggedHeaderSize);
}

// vectors/worked_frames.cpp encodes the decoded headers again.
TEST_CASE("Atomic Requests have the fields of frames J and J2 [EXT-20, EXT-22, EXT-23]") {
  const AtomicRequest add{.opcode = AtomicOpcode::kFetchAdd,
                          .id = 0xCAFE0001,
                          .stag = Stag{0x11223344},
                          .to = TaggedOffset{0x1000},
                          .add_or_swap = 1,
                          .mask = 0};
  const AtomicRequest swap{.opcode = AtomicOpcode::kCmpSwap,
                           .id = 0xCAFE0002,
                           .stag = Stag{0x11223344},
                           .to = TaggedOffset{0x1000},
                           .add_or_swap = 99,
                           .mask = kAll,
                           .compare = 42,
                           .compare_mask = kAll};
  for (const auto& [name, request] : {std::pair{"J", add}, std::pair{"J2", swap}}) {
    const auto frame = extension(name);
    const auto decoded = decode_atomic_request(rdmap_payload_of(frame));
    REQUIRE(decoded);
    CHECK(*decoded == request);
  }
}

TEST_CASE("Atomic Responses have the fields of frames K and K2 [EXT-37]") {
  for (const auto& [name, response] :
       {std::pair{"K", AtomicResponse{.id = 0xCAFE0001, .original = 41}},
        std::pair{"K2", AtomicResponse{.id = 0xCAFE0002, .original = 42}}}) {
    const auto frame = extension(name);
    CHECK(decode_atomic_response(rdmap_payload_of(frame)) == response);
    CHECK_FALSE(decode_atomic_response(rdmap_payload_of(frame).first(11)));
  }
}

TEST_CASE("the 28 bits before the AOpCode are ignored; only 0 and 2 exist [EXT-22, EXT-27]") {
  const auto frame = extension("J");
  for (unsigned opcode = 0; opcode < 16; ++opcode) {
    Octets octets(rdmap_payload_of(frame).begin(), rdmap_payload_of(frame).end());
    bytes::store_be(octets.data(), 0xFFFFFFF0U | opcode);
    const auto decoded = decode_atomic_request(octets);
    if (opcode == 0 || opcode == 2) {
      REQUIRE(decoded);
      CHECK(static_cast<unsigned>(decoded->opcode) == opcode);
    } else {
      REQUIRE_FALSE(decoded);
      CHECK(decoded.error() == kUnexpectedOpcode);
    }
  }
}

TEST_CASE("a truncated request is 0/2/FF, whatever its AOpCode") {
  const auto frame = extension("J2");
  for (std::size_t n = 0; n < kAtomicRequestSize; ++n) {
    const auto decoded = decode_atomic_request(rdmap_payload_of(frame).first(n));
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error() == kOperationUnspecified);
  }
}

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

TEST_CASE("a few results computed by hand [EXT-12, EXT-14]") {
  const auto add = [](std::uint64_t original, std::uint64_t value, std::uint64_t mask) {
    return apply({.add_or_swap = value, .mask = mask}, original);
  };
  CHECK(add(41, 1, 0) == 42);
  CHECK(add(kAll, 1, 0) == 0);
  CHECK(add(5, kAll, 0) == 4);
  // A carry stops at the end of its field.
  CHECK(add(0x00000000FFFFFFFF, 1, 0x0000000080000000) == 0);
  CHECK(add(0x00000000FFFFFFFF, 1, 0x8000000000000000) == 0x0000000100000000);
  CHECK(add(0xFF7FFF7FFF7FFF7F, 0x0101010101010101, 0x8080808080808080) == 0x0080008000800080);
  CHECK(add(0xAAAA, 0xFFFF, kAll) == 0x5555);  // Fields of one bit have no carries.
  const auto swap = [](std::uint64_t original, const AtomicRequest& like) {
    AtomicRequest r = like;
    r.opcode = AtomicOpcode::kCmpSwap;
    return apply(r, original);
  };
  CHECK(swap(42, {.add_or_swap = 99, .mask = kAll, .compare = 42}) == 99);
  CHECK(swap(41, {.add_or_swap = 99, .mask = kAll, .compare = 42}) == 41);
  CHECK(
      swap(0x1242, {.add_or_swap = kAll, .mask = 0xFF00, .compare = 0x42, .compare_mask = 0xFF}) ==
      0xFF42);
  CHECK(swap(7, {.add_or_swap = 8, .mask = kAll, .compare = 99, .compare_mask = 0}) == 8);
  CHECK(swap(7, {.add_or_swap = 8, .mask = 0, .compare = 7}) == 7);
}

}  // namespace
}  // namespace iwarp::rdmap
