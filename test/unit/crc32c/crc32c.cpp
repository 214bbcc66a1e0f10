// SPDX-License-Identifier: Apache-2.0
// Tests every CRC32c kernel that this processor supports against the published vectors (RFC 3720
// B.4), and against a bit-by-bit reference at all small lengths, alignments and splits. The
// benchmarks measure the kernels' speed.
#include "iwarp/crc32c/crc32c.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

namespace {

using iwarp::bytes::View;
using iwarp::crc32c::Kernel;
using Octets = std::vector<std::byte>;

std::uint32_t reference(std::uint32_t crc, View octets) {
  crc = ~crc;
  for (const std::byte octet : octets) {
    crc ^= std::to_integer<std::uint32_t>(octet);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

Octets random_octets(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  Octets octets(size);
  for (auto& octet : octets) octet = static_cast<std::byte>(random() & 0xFF);
  return octets;
}

Octets counting(int from, int step) {
  Octets octets;
  for (int i = 0; i < 32; ++i) octets.push_back(static_cast<std::byte>(from + step * i));
  return octets;
}

template <typename Check>
void with_every_kernel(Check check) {
  int ran = 0;
  for (const Kernel& kernel : iwarp::crc32c::kernels()) {
    if (!kernel.supported()) {
      MESSAGE("not supported by this processor: ", kernel.name);
      continue;
    }
    ++ran;
    CAPTURE(kernel.name);
    check(kernel);
  }
  CHECK(ran >= 1);
}

}  // namespace

TEST_CASE("every kernel computes the published CRCs [MPA-43]") {
  // RFC 3720 B.4 prints the octets in wire order, least significant first.
  Octets read_pdu(48);
  read_pdu[0] = std::byte{0x01};
  read_pdu[1] = std::byte{0xC0};
  read_pdu[16] = std::byte{0x14};
  read_pdu[22] = std::byte{0x04};
  read_pdu[27] = std::byte{0x14};
  read_pdu[31] = std::byte{0x18};
  read_pdu[32] = std::byte{0x28};
  read_pdu[40] = std::byte{0x02};
  const std::string_view digits = "123456789";
  with_every_kernel([&](const Kernel& kernel) {
    CHECK(kernel.extend(0, Octets(32, std::byte{0x00})) == 0x8A9136AA);
    CHECK(kernel.extend(0, Octets(32, std::byte{0xFF})) == 0x62A8AB43);
    CHECK(kernel.extend(0, counting(0, 1)) == 0x46DD794E);
    CHECK(kernel.extend(0, counting(31, -1)) == 0x113FDB5C);
    CHECK(kernel.extend(0, read_pdu) == 0xD9963A56);
    CHECK(kernel.extend(0, std::as_bytes(std::span(digits))) == 0xE3069283);
    CHECK(kernel.extend(0, {}) == 0);
    CHECK(kernel.extend(0x12345678, {}) == 0x12345678);
  });
}

TEST_CASE("every length from 0 to 1100 agrees with the bit-by-bit reference [MPA-43]") {
  const Octets octets = random_octets(1100, 1);
  std::vector<std::uint32_t> expected{0};
  for (const std::byte& octet : octets) expected.push_back(reference(expected.back(), {&octet, 1}));
  with_every_kernel([&](const Kernel& kernel) {
    for (std::size_t length = 0; length <= octets.size(); ++length) {
      CAPTURE(length);
      REQUIRE(kernel.extend(0, View(octets).first(length)) == expected[length]);
    }
  });
}

TEST_CASE("every alignment from 0 to 63 agrees with the bit-by-bit reference [MPA-43]") {
  const Octets octets = random_octets(5000, 2);
  for (const std::size_t length : {1U, 63U, 64U, 127U, 193U, 256U, 1448U, 4096U}) {
    std::vector<std::uint32_t> expected;
    for (std::size_t start = 0; start < 64; ++start) {
      expected.push_back(reference(0, View(octets).subspan(start, length)));
    }
    with_every_kernel([&](const Kernel& kernel) {
      for (std::size_t start = 0; start < 64; ++start) {
        INFO("length ", length, ", start ", start);
        REQUIRE(kernel.extend(0, View(octets).subspan(start, length)) == expected[start]);
      }
    });
  }
}

TEST_CASE("a range that is split anywhere gives the CRC of the whole [MPA-43]") {
  const Octets octets = random_octets(70000, 3);
  const std::uint32_t expected = reference(0, octets);
  with_every_kernel([&](const Kernel& kernel) {
    CHECK(kernel.extend(0, octets) == expected);
    std::mt19937 random(4);
    for (int round = 0; round < 200; ++round) {
      std::uint32_t crc = 0;
      View rest = octets;
      while (!rest.empty()) {
        const std::size_t cut = std::min<std::size_t>(rest.size(), random() % 9000);
        crc = kernel.extend(crc, rest.first(cut));
        rest = rest.subspan(cut);
      }
      REQUIRE(crc == expected);
    }
  });
}

TEST_CASE("copy_extend copies exactly its range and returns its CRC [MPA-43]") {
  constexpr std::byte kGuard{0xA5};
  constexpr std::size_t kMargin = 64;
  const Octets octets = random_octets(2300, 5);
  with_every_kernel([&](const Kernel& kernel) {
    Octets target(kMargin + 64 + octets.size() + kMargin, kGuard);
    for (std::size_t length = 0; length <= 1100; ++length) {
      CAPTURE(length);
      const std::size_t to = kMargin + length * 7 % 64;
      const View from = View(octets).subspan(length * 13 % 64, length);
      REQUIRE(kernel.copy_extend(0x89ABCDEF, target.data() + to, from) ==
              kernel.extend(0x89ABCDEF, from));
      REQUIRE(std::equal(from.begin(), from.end(), target.data() + to));
      std::fill_n(target.data() + to, length, kGuard);
      REQUIRE(std::count(target.begin(), target.end(), kGuard) ==
              static_cast<std::ptrdiff_t>(target.size()));
    }
  });
}

TEST_CASE("the fastest supported kernel is used [MPA-35]") {
  const auto all = iwarp::crc32c::kernels();
  REQUIRE(!all.empty());
  CHECK(std::string_view(all.front().name) == "portable");
  const auto best =
      std::find_if(all.rbegin(), all.rend(), [](const Kernel& k) { return k.supported(); });
  REQUIRE(best != all.rend());
  CHECK(std::string_view(iwarp::crc32c::active().name) == best->name);

  const Octets octets = random_octets(3000, 6);
  Octets copy(octets.size());
  CHECK(iwarp::crc32c::compute(octets) == reference(0, octets));
  CHECK(iwarp::crc32c::copy_extend(0, copy.data(), octets) == reference(0, octets));
  CHECK(copy == octets);
}

TEST_CASE("a program may choose the kernel; the results stay the same [MPA-43]") {
  const Kernel& before = iwarp::crc32c::active();
  const auto octets = std::as_bytes(std::span("123456789", 9));
  for (const Kernel& kernel : iwarp::crc32c::kernels()) {
    if (!kernel.supported()) continue;
    iwarp::crc32c::use(kernel);
    CHECK(std::string_view(iwarp::crc32c::active().name) == kernel.name);
    CHECK(iwarp::crc32c::compute(octets) == 0xE3069283);
  }
  iwarp::crc32c::use(before);
  CHECK(&iwarp::crc32c::active() == &before);
}
