// SPDX-License-Identifier: Apache-2.0
// The expected contents of memory that a peer may access: everything known to be placed, what may
// have been placed since, and nothing else.
#pragma once

#include <deque>

#include "op.hpp"

namespace iwarp::chaos {

/// The requests of one direction, in the order in which they were posted.
using Ops = std::deque<Op>;

class Target {
 public:
  /// At the beginning: words for atomics. The other memory is for Writes and Reads.
  static constexpr std::size_t kWords = 16;
  static constexpr std::size_t kZone = kWords * 8;
  static constexpr std::size_t kSize = 24 * 1024;

  void use(Block* block);
  Block* block() const { return block_; }
  /// Returns the contents after everything posted is placed.
  std::vector<std::byte>& posted() { return posted_; }
  std::uint64_t word(std::size_t at) const;
  void set_word(std::size_t at, std::uint64_t value);

  /// Records that `op` was posted.
  void post(const Op& op);
  /// All of `ops` before `end` are placed: checks memory. Those before `from` were known to be
  /// placed.
  void settle(const Ops& ops, std::size_t from, std::size_t end);
  /// Everything was placed and nothing is outstanding: checks memory.
  void check_all_placed() const;
  /// The stream is over: checks that at most a prefix of what was outstanding is there, and no
  /// other octet. `first` is the stream's first request, `from` the first one not known to be
  /// placed.
  void check_prefix(const Ops& ops, std::size_t first, std::size_t from, std::size_t limit);
  /// Takes the current contents as the start of the next stream.
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

/// Returns whether both are equal except for tainted octets; `taints` count from the start of
/// `wanted`.
bool same_but(bytes::View found, bytes::View wanted, const std::vector<Taint>& taints);

}  // namespace iwarp::chaos
