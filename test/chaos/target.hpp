// SPDX-License-Identifier: Apache-2.0
// What the memory that a peer may reach must hold: all that is known to be placed, what may be
// placed meanwhile, and nothing else.
#pragma once

#include <deque>

#include "op.hpp"

namespace iwarp::chaos {

/// The requests of one direction, by the order posted.
using Ops = std::deque<Op>;

class Target {
 public:
  /// In front: words, that atomics work on; the rest is for Writes and Reads.
  static constexpr std::size_t kWords = 16;
  static constexpr std::size_t kZone = kWords * 8;
  static constexpr std::size_t kSize = 24 * 1024;

  void use(Block* block);
  Block* block() const { return block_; }
  /// As it will be when all that was posted is placed.
  std::vector<std::byte>& posted() { return posted_; }
  std::uint64_t word(std::size_t at) const;
  void set_word(std::size_t at, std::uint64_t value);

  /// `op` was posted.
  void post(const Op& op);
  /// All of `ops` before `end` are placed: memory has to say so. `from`: those known before.
  void settle(const Ops& ops, std::size_t from, std::size_t end);
  /// Everything was placed, and nothing is under way.
  void check_all_placed() const;
  /// The stream is over: a prefix of what was under way may be there, and no octet else.
  /// `first`: the stream's first request, `from` the first not known to be placed.
  void check_prefix(const Ops& ops, std::size_t first, std::size_t from, std::size_t limit);
  /// What is there now is how the next stream finds it.
  void adopt();
  const std::vector<Taint>& taints() const { return taints_; }
  void taint(std::size_t at, std::byte mask) { taints_.push_back({at, mask}); }

 private:
  bool is_same(std::size_t at, bytes::View wanted) const;
  bool may_be(const Ops& ops, std::size_t from, std::size_t at) const;
  bool fits_prefix(const std::vector<std::byte>& state, const Op* next) const;
  void check_words(const Ops& ops, std::size_t first, std::size_t from, std::size_t limit) const;

  Block* block_ = nullptr;
  std::vector<std::byte> posted_;
  std::vector<std::byte> placed_;
  std::vector<Taint> taints_;
};

/// Equal but for octets that were tainted; `taints` count from the beginning of `wanted`.
bool same_but(bytes::View found, bytes::View wanted, const std::vector<Taint>& taints);

}  // namespace iwarp::chaos
