// SPDX-License-Identifier: Apache-2.0
// Registered memory of one host, with guard octets around it. Its addresses are fixed numbers, so
// that the octets on the wire do not depend on where the memory is.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "iwarp/verbs/memory.hpp"
#include "iwarp/verbs/work_request.hpp"

namespace iwarp::chaos {

using verbs::Access;
using verbs::Stag;

/// The values of guard octets, of memory that the stack has not filled, and of deregistered memory.
inline constexpr std::byte kGuardOctet{0xA5};
inline constexpr std::byte kUnusedOctet{0xEE};
inline constexpr std::byte kDeadOctet{0xDD};

struct Block {
  static constexpr std::size_t kGuard = 64;
  std::vector<std::byte> storage;
  std::size_t size = 0;
  verbs::Region* region = nullptr;  ///< null if the block is deregistered
  std::uint64_t base = 0;           ///< address of the first octet, for Sges and TOs
  /// The parts in use: offset and number of octets of each.
  std::map<std::size_t, std::size_t> used;
  std::size_t cursor = 0;

  std::byte* data() { return storage.data() + kGuard; }
  bytes::Span span(std::size_t at, std::size_t n) { return {data() + at, n}; }
  Stag stag() const { return Stag{region->stag.load()}; }
  /// Reserves `n` octets of the block. Returns their offset, or nullopt if there is no room.
  std::optional<std::size_t> take(std::size_t n);
  void give_back(std::size_t at);
  verbs::Sge sge(std::size_t at, std::size_t n, Stag lkey) const {
    return {.address = reinterpret_cast<std::byte*>(base + at),
            .length = static_cast<std::uint32_t>(n),
            .lkey = lkey};
  }
};

class Blocks {
 public:
  explicit Blocks(verbs::StagTable& stags) : stags_(stags) {}
  Block* make(std::size_t size, Access access, std::byte fill);
  /// Registers a part of the block again under another STag. The caller must destroy the returned
  /// region.
  verbs::Region* alias(Block& block, std::size_t at, std::size_t n, Access access);
  /// Fills a deregistered block with kDeadOctet. From then on, check() expects that its contents do
  /// not change.
  void retire(Block& block);
  /// Checks that no guard and no retired block has changed, and that no memory is pinned.
  void check() const;

 private:
  verbs::StagTable& stags_;
  std::deque<Block> blocks_;
  std::uint64_t next_base_ = 0x1000'0000;
};

}  // namespace iwarp::chaos
