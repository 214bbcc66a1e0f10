// SPDX-License-Identifier: Apache-2.0
// PlanCursor copies octets between the iovecs of a plan and a TLS record. An iovec may refer
// to registered memory that the program has unmapped. Access to such memory must not end the
// process.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "iwarp/bytes/touch.hpp"

namespace iwarp::tls {

/// Copies `size` octets. Returns false if `from` or `to` is not mapped.
inline bool copy(std::byte* to, const std::byte* from, std::size_t size) {
  return bytes::guarded([=] {
    bytes::begin_touch();
    std::memcpy(to, from, size);
    bytes::end_touch();
  });
}

/// A position in a plan, which is a list of iovecs.
class PlanCursor {
 public:
  explicit PlanCursor(std::span<const iovec> plan) : plan_(plan) {
    for (const iovec& piece : plan) left_ += piece.iov_len;
  }
  std::size_t left() const { return left_; }
  /// Copies the next octets of the plan to `to` and returns their number. Copies as many as fit, or
  /// fewer if the next piece of the plan is not mapped.
  std::size_t copy_to(std::span<std::byte> to) {
    std::size_t done = 0;
    while (left_ != 0 && done < to.size()) {
      const auto from = piece(to.size() - done);
      if (!tls::copy(to.data() + done, from.data(), from.size())) break;
      pass(from.size());
      done += from.size();
    }
    return done;
  }
  /// Copies `from` to the next memory of the plan, which must have room for it. Returns false if
  /// that memory is not mapped.
  bool copy_from(std::span<const std::byte> from) {
    while (!from.empty()) {
      const auto to = piece(from.size());
      if (!tls::copy(to.data(), from.data(), to.size())) return false;
      pass(to.size());
      from = from.subspan(to.size());
    }
    return true;
  }

 private:
  /// Returns the rest of the current piece, but at most `most` octets. Call only if the plan has
  /// octets left.
  std::span<std::byte> piece(std::size_t most) {
    while (at_ == plan_.front().iov_len) {
      plan_ = plan_.subspan(1);
      at_ = 0;
    }
    const iovec& one = plan_.front();
    return {static_cast<std::byte*>(one.iov_base) + at_, std::min(one.iov_len - at_, most)};
  }
  void pass(std::size_t size) {
    at_ += size;
    left_ -= size;
  }

  std::span<const iovec> plan_;
  std::size_t at_ = 0;
  std::size_t left_ = 0;
};

}  // namespace iwarp::tls
