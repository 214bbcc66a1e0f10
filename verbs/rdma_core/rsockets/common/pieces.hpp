// SPDX-License-Identifier: Apache-2.0
// Pieces: the scatter/gather list that an application passes to a call. A Cursor moves through such
// a list.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace iwarp::rdma_core::rsockets {

inline std::size_t total(std::span<const iovec> pieces) {
  std::size_t out = 0;
  for (const iovec& piece : pieces) out += piece.iov_len;
  return out;
}

/// A position in the memory that a list describes. It starts at the beginning of the list and only
/// moves forward.
class Cursor {
 public:
  explicit Cursor(std::span<const iovec> pieces) : pieces_(pieces) {}

  /// Returns the next contiguous bytes, or an empty span at the end of the list.
  std::span<std::byte> piece() {
    while (!pieces_.empty() && at_ == pieces_.front().iov_len) {
      pieces_ = pieces_.subspan(1);
      at_ = 0;
    }
    if (pieces_.empty()) return {};
    auto* const base = static_cast<std::byte*>(pieces_.front().iov_base);
    return {base + at_, pieces_.front().iov_len - at_};
  }
  void advance(std::size_t count) { at_ += count; }

  /// Copies `from` into the memory of the list. Drops the bytes that do not fit.
  void copy_from(std::span<const std::byte> from) {
    for (auto to = piece(); !to.empty() && !from.empty(); to = piece()) {
      const std::size_t count = std::min(from.size(), to.size());
      std::memcpy(to.data(), from.data(), count);
      advance(count);
      from = from.subspan(count);
    }
  }

  /// Copies bytes from the memory of the list to `to`. At least `to.size()` bytes must remain in
  /// the list.
  void copy_to(std::span<std::byte> to) {
    while (!to.empty()) {
      const auto from = piece();
      const std::size_t count = std::min(from.size(), to.size());
      std::memcpy(to.data(), from.data(), count);
      advance(count);
      to = to.subspan(count);
    }
  }

 private:
  std::span<const iovec> pieces_;
  std::size_t at_ = 0;
};

}  // namespace iwarp::rdma_core::rsockets
