// SPDX-License-Identifier: Apache-2.0
// A file descriptor with an owner. Closes quietly. The child of a fork can close it, too.
#pragma once

#include <unistd.h>

#include <utility>

#include "descriptors.hpp"

namespace iwarp::net {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) { remember(fd); }
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
  int release() {
    forget(fd_);
    return std::exchange(fd_, -1);
  }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() {
    if (forget(fd_)) ::close(fd_);  // in this order: the number may be in use again at once
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace iwarp::net
