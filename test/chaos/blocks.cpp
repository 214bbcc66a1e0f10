// SPDX-License-Identifier: Apache-2.0
// Registered memory with guard octets around it.
#include "blocks.hpp"

#include <algorithm>

#include "violation.hpp"

namespace iwarp::chaos {
namespace {

bool all(bytes::View octets, std::byte value) {
  return std::ranges::all_of(octets, [value](std::byte b) { return b == value; });
}

}  // namespace

std::optional<std::size_t> Block::take(std::size_t n) {
  const std::size_t need = std::max<std::size_t>(n, 1);
  for (std::size_t start : {cursor, std::size_t{0}}) {
    auto next = used.lower_bound(start);
    if (next != used.begin()) {
      const auto& [at, length] = *std::prev(next);
      start = std::max(start, at + length);
    }
    while (true) {
      const auto limit = next == used.end() ? size : next->first;
      if (start + need <= limit) {
        used[start] = need;
        cursor = start + need;
        return start;
      }
      if (next == used.end()) break;
      start = next->first + next->second;
      ++next;
    }
  }
  return std::nullopt;
}

void Block::give_back(std::size_t at) {
  const auto cell = used.find(at);
  std::fill_n(data() + at, cell->second, kUnusedOctet);
  used.erase(cell);
}

Block* Blocks::make(std::size_t size, Access access, std::byte fill) {
  Block& b = blocks_.emplace_back();
  b.storage.assign(size + 2 * Block::kGuard, kGuardOctet);
  b.size = size;
  std::fill_n(b.data(), size, fill);
  b.base = next_base_;
  next_base_ += 0x10'0000;
  b.region = *stags_.create(
      {.pd = 1, .address = b.data(), .length = size, .access = access, .iova = b.base});
  return &b;
}

verbs::Region* Blocks::alias(Block& block, std::size_t at, std::size_t n, Access access) {
  return *stags_.create({.pd = 1,
                         .address = block.data() + at,
                         .length = n,
                         .access = access,
                         .iova = block.base + at});
}

void Blocks::retire(Block& block) {
  block.region = nullptr;
  std::fill_n(block.data(), block.size, kDeadOctet);
}

void Blocks::check() const {
  for (const Block& b : blocks_) {
    const bytes::View all_octets(b.storage);
    require(all(all_octets.first(Block::kGuard), kGuardOctet) &&
                all(all_octets.last(Block::kGuard), kGuardOctet),
            "octets beside registered memory changed", "block {:#x}", b.base);
    const bool dead = b.region == nullptr;
    require(!dead || all(all_octets.subspan(Block::kGuard, b.size), kDeadOctet),
            "deregistered memory changed", "block {:#x}", b.base);
    require(dead || b.region->pins.load() == 0, "memory stays pinned", "block {:#x}, {} pins",
            b.base, dead ? 0 : b.region->pins.load());
  }
}

}  // namespace iwarp::chaos
