// SPDX-License-Identifier: Apache-2.0
// Tests how the 8 octets of an Immediate describe the message that they belong to.
#include "objects/immediate.hpp"

#include <doctest/doctest.h>

namespace iwarp::rdma_core {
namespace {

TEST_CASE("an Immediate carries the length of its Write, up to the longest message") {
  for (const std::uint32_t length : {0U, 1U, (1U << 31) - 1, 1U << 31}) {
    const auto got = decode_immediate(encode({.imm_data = 0x01020304, .length = length}));
    CHECK(got.imm_data == 0x01020304);
    CHECK_FALSE(got.with_send);
    CHECK(got.length == length);
  }
}

TEST_CASE("an Immediate that represents a Send without payload does not describe a Write") {
  const auto octets = encode({.imm_data = 5, .with_send = true});
  CHECK(decode_immediate(octets).with_send);
  CHECK(decode_immediate(octets).length == 0);
}

TEST_CASE("an Immediate cannot report a longer Write than was placed") {
  const auto octets = encode({.length = 1U << 31});
  CHECK(length_of_write(octets, 0) == 0);
  CHECK(length_of_write(octets, 77) == 77);
  CHECK(length_of_write(octets, UINT32_MAX) == 1U << 31);
}

}  // namespace
}  // namespace iwarp::rdma_core
