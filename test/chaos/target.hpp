// SPDX-License-Identifier: Apache-2.0
// The expected contents of memory that the peer may access. Requests that are known to be placed
// have written their octets. Later requests may have written theirs. Nothing else may have changed.
#pragma once

#include <deque>

#include "op.hpp"

namespace iwarp::chaos {

/// The requests of one direction, in the order in which they were posted.
using Ops = std::deque<Op>;

class Target {
 public:
  /// The first kZone octets are words for atomics. The memory after them is for Writes and Reads.
  static constexpr std::size_t kWords = 16;
  static constexpr std::size_t kZone = kWords * 8;
  static constexpr std::size_t kSize = 24 * 1024;

  void use(Block* block);
  Block* block() const { return block_; }
  /// Returns the contents that the memory will have when all posted requests are placed.
  std::vector<std::byte>& posted() { return posted_; }
  std::uint64_t word(std::size_t at) const;
  void set_word(std::size_t at, std::uint64_t value);

  /// Records that `op` was posted.
  void post(const Op& op);
  /// Checks the memory after all of `ops` before `end` have been placed. Requests before `from`
  /// were already known to be placed.
  void settle(const Ops& ops, std::size_t from, std::size_t end);
  /// Checks the memory when everything has been placed and no request is outstanding.
  void check_all_placed() const;
  /// Checks the memory after the end of the stream. Of the outstanding requests, at most a prefix
  /// may have been placed, and no other octet may have changed. `first` is the first request of the
  /// stream. `from` is the first request that is not known to be placed.
  void check_prefix(const Ops& ops, std::size_t first, std::size_t from, std::size_t limit);
  /// Makes the current contents the expected contents at the start of the next stream.
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

/// Returns whether `found` and `wanted` are equal except for tainted octets. `at` is the position
/// of the first octet, as in `taints`.
bool same_but(bytes::View found, bytes::View wanted, const std::vector<Taint>& taints,
              std::size_t at = 0);

}  // namespace iwarp::chaos
