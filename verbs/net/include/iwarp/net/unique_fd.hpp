// SPDX-License-Identifier: Apache-2.0
// UniqueFd: owns a file descriptor. close_inherited() closes it in the child of a fork.
#pragma once

#include <utility>

namespace iwarp::net {

/// Owner of a file descriptor, or of none. Movable. The destructor closes it and ignores errors.
class UniqueFd {
 public:
  UniqueFd() = default;
  /// Takes ownership of `fd`; negative: none.
  explicit UniqueFd(int fd);
  UniqueFd(UniqueFd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& o) noexcept {
    if (this != &o) {
      reset();
      fd_ = std::exchange(o.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }
  /// Returns the descriptor; -1: none.
  int get() const { return fd_; }
  /// Gives up ownership of the descriptor and returns it; the caller closes it.
  int release();
  /// Returns whether it owns a descriptor.
  explicit operator bool() const { return fd_ >= 0; }
  /// Closes the descriptor, if there is one.
  void reset();

 private:
  int fd_ = -1;
};

}  // namespace iwarp::net
