// SPDX-License-Identifier: Apache-2.0
// Registered memory of one host, with guards around it and fixed numbers instead of addresses, so
// that no octet on a wire depends on where memory happens to lie.
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

/// What stands in memory that nobody may write to, what the core never filled, and what is gone.
inline constexpr std::byte kGuardOctet{0xA5};
inline constexpr std::byte kUnusedOctet{0xEE};
inline constexpr std::byte kDeadOctet{0xDD};

struct Block {
  static constexpr std::size_t kGuard = 64;
  std::vector<std::byte> storage;
  std::size_t size = 0;
  verbs::Region* region = nullptr;          ///< nullptr once it is deregistered
  std::uint64_t base = 0;                   ///< what Sges and TOs call the first octet
  std::map<std::size_t, std::size_t> used;  ///< cells in use: offset, octets
  std::size_t cursor = 0;

  std::byte* data() { return storage.data() + kGuard; }
  bytes::Span span(std::size_t at, std::size_t n) { return {data() + at, n}; }
  Stag stag() const { return Stag{region->stag.load()}; }
  /// A piece of it that nobody uses.
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
  /// The same octets under another STag; ends with `Region` alone.
  verbs::Region* alias(Block& block, std::size_t at, std::size_t n, Access access);
  /// Deregistered: filled anew, and not to change any more.
  void retire(Block& block);
  /// No guard and nothing retired was touched, and nothing is pinned.
  void check() const;

 private:
  verbs::StagTable& stags_;
  std::deque<Block> blocks_;
  std::uint64_t next_base_ = 0x1000'0000;
};

}  // namespace iwarp::chaos
