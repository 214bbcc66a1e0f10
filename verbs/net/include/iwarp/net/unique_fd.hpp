// SPDX-License-Identifier: Apache-2.0
// A file descriptor with an owner. Closes quietly. The child of a fork can close it, too.
#pragma once

#include <utility>

namespace iwarp::net {

class UniqueFd {
 public:
  UniqueFd() = default;
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
  int get() const { return fd_; }
  /// The descriptor; whoever calls this closes it.
  int release();
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

}  // namespace iwarp::net
