// SPDX-License-Identifier: Apache-2.0
// Gather and Scatter copy octets between the iovecs of a plan and a TLS record. An iovec may refer
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
  /// Returns the rest of the current piece. Call only if the plan has octets left.
  std::span<std::byte> piece() {
    while (at_ == plan_.front().iov_len) {
      plan_ = plan_.subspan(1);
      at_ = 0;
    }
    const iovec& one = plan_.front();
    return std::span(static_cast<std::byte*>(one.iov_base), one.iov_len).subspan(at_);
  }
  void pass(std::size_t size) {
    at_ += size;
    left_ -= size;
  }

 private:
  std::span<const iovec> plan_;
  std::size_t at_ = 0;
  std::size_t left_ = 0;
};

class Gather {
 public:
  explicit Gather(std::span<const iovec> plan) : place_(plan) {}
  bool at_end() const { return place_.left() == 0; }
  /// Copies the next octets of the plan to `to` and returns their number. Copies as many as fit, or
  /// fewer if the next piece of the plan is not mapped.
  std::size_t copy(std::span<std::byte> to) {
    std::size_t done = 0;
    while (!at_end() && done < to.size()) {
      const auto from = place_.piece();
      const auto size = std::min(from.size(), to.size() - done);
      if (!tls::copy(to.data() + done, from.data(), size)) break;
      place_.pass(size);
      done += size;
    }
    return done;
  }

 private:
  PlanCursor place_;
};

class Scatter {
 public:
  explicit Scatter(std::span<const iovec> plan) : place_(plan) {}
  std::size_t room() const { return place_.left(); }
  /// Copies `from` to the next free memory of the plan, which must have room for it. Returns false
  /// if that memory is not mapped.
  bool copy(std::span<const std::byte> from) {
    while (!from.empty()) {
      const auto to = place_.piece();
      const auto size = std::min(from.size(), to.size());
      if (!tls::copy(to.data(), from.data(), size)) return false;
      place_.pass(size);
      from = from.subspan(size);
    }
    return true;
  }

 private:
  PlanCursor place_;
};

}  // namespace iwarp::tls
