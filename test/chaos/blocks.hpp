// SPDX-License-Identifier: Apache-2.0
// Registered memory of one host, with guards around it. Its addresses are fixed numbers, so that no
// octet on the wire depends on where memory is.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "iwarp/verbs/memory.hpp"
#include "iwarp/verbs/work_request.hpp"

namespace iwarp::chaos {

using verbs::Access;
using verbs::Stag;

/// Contents of guards, of memory that the stack never filled, and of deregistered memory.
inline constexpr std::byte kGuardOctet{0xA5};
inline constexpr std::byte kUnusedOctet{0xEE};
inline constexpr std::byte kDeadOctet{0xDD};

struct Block {
  static constexpr std::size_t kGuard = 64;
  std::vector<std::byte> storage;
  std::size_t size = 0;
  verbs::Region* region = nullptr;          ///< nullptr if the block is deregistered
  std::uint64_t base = 0;                   ///< address of the first octet, for Sges and TOs
  std::map<std::size_t, std::size_t> used;  ///< cells in use, as offset and number of octets
  std::size_t cursor = 0;

  std::byte* data() { return storage.data() + kGuard; }
  bytes::Span span(std::size_t at, std::size_t n) { return {data() + at, n}; }
  Stag stag() const { return Stag{region->stag.load()}; }
  /// Allocates `n` octets of the block. Returns their offset, or nullopt if there is no room.
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
  /// Registers the same octets under another STag. The caller must destroy the returned region.
  verbs::Region* alias(Block& block, std::size_t at, std::size_t n, Access access);
  /// Called after the block was deregistered: fills it with kDeadOctet, which must not change any
  /// more.
  void retire(Block& block);
  /// Checks that no guard and no retired block has changed, and that nothing is pinned.
  void check() const;

 private:
  verbs::StagTable& stags_;
  std::deque<Block> blocks_;
  std::uint64_t next_base_ = 0x1000'0000;
};

}  // namespace iwarp::chaos
