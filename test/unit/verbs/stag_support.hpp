// SPDX-License-Identifier: Apache-2.0
// An STag table with a seeded random generator, and memory to register in it.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <string>

#include "iwarp/verbs/memory.hpp"

namespace iwarp::verbs {

inline constexpr Access kAllRights =
    Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead | Access::kBindWindow;
inline constexpr PdId kPd = 1;
inline constexpr QpNum kQp = 7;

inline std::uint64_t address_of(const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); }
inline Stag stag_of(const Region* region) { return Stag{region->stag.load()}; }

/// Returns the registration of `memory`, with all rights, to a fast region.
inline Registration registration(const Region* region, bytes::Span memory, std::uint8_t key) {
  return {.stag = stag_of(region),
          .key = key,
          .address = memory.data(),
          .length = memory.size(),
          .access = kAllRights};
}

struct Table : StagTable {
  explicit Table(std::size_t capacity = 64, std::uint32_t seed = 1)
      : StagTable(capacity, [this] { return static_cast<std::uint32_t>(numbers()); }),
        numbers(seed) {}

  Region* add(Access access = kAllRights, QpNum qp = 0, PdId pd = kPd,
              Region::Kind kind = Region::Kind::kRegion) {
    auto region = create({.kind = kind,
                          .pd = pd,
                          .qp = qp,
                          .address = memory.data() + 100,
                          .length = 200,
                          .access = access});
    REQUIRE(region.has_value());
    return *region;
  }
  /// Adds a region whose first octet has the address `iova`.
  Region* add_at(std::uint64_t iova) {
    auto region = create({.pd = kPd,
                          .address = memory.data() + 100,
                          .length = 200,
                          .access = kAllRights,
                          .iova = iova});
    REQUIRE(region.has_value());
    return *region;
  }
  void drop(Region* region) {
    REQUIRE(!destroy(region, [](Region&) {}));
  }

  /// Returns "granted", or the reason for the refusal.
  std::string ask(const AccessRequest& who, Stag stag, std::uint64_t to, std::uint32_t length) {
    const auto grant = acquire(who, stag, to, length);
    if (grant) return "granted";
    constexpr std::array kNames{"invalid", "bounds", "right", "other stream", "wraps"};
    return kNames[static_cast<std::size_t>(grant.error())];
  }

  std::mt19937 numbers;
  std::array<std::byte, 400> memory{};
};

inline AccessRequest remote_write(PdId pd = kPd, QpNum qp = kQp) {
  return {.pd = pd, .qp = qp, .remote = true, .need = Access::kRemoteWrite};
}
inline AccessRequest local(Access need, PdId pd = kPd) {
  return {.pd = pd, .qp = kQp, .remote = false, .need = need};
}

}  // namespace iwarp::verbs
