// SPDX-License-Identifier: Apache-2.0
// UniqueFd: owns a file descriptor. In the child of a fork, close_inherited() closes the
// descriptor.
#pragma once

#include <utility>

namespace iwarp::net {

/// Owns at most one file descriptor. Movable. The destructor closes the descriptor and ignores
/// errors.
class UniqueFd {
 public:
  UniqueFd() = default;
  /// Takes ownership of `fd`; a negative `fd` is no descriptor.
  explicit UniqueFd(int fd);
  UniqueFd(UniqueFd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  /// Takes over the descriptor of `o`, and closes the one that the object owned before.
  UniqueFd& operator=(UniqueFd o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~UniqueFd() { reset(); }
  /// Returns the descriptor, or -1 if there is none.
  int get() const { return fd_; }
  /// Gives up ownership of the descriptor and returns it; the caller closes it.
  int release();
  /// Returns whether the object owns a descriptor.
  explicit operator bool() const { return fd_ >= 0; }
  /// Closes the descriptor, if there is one.
  void reset();

 private:
  int fd_ = -1;
};

}  // namespace iwarp::net
