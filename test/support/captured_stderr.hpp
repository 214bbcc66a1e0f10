// SPDX-License-Identifier: Apache-2.0
// CapturedStderr: captures what this process writes to standard error during its lifetime.
#pragma once

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

namespace iwarp::test {

class CapturedStderr {
 public:
  CapturedStderr() : before_(::dup(STDERR_FILENO)), file_(::memfd_create("stderr", MFD_CLOEXEC)) {
    REQUIRE(::dup2(file_, STDERR_FILENO) == STDERR_FILENO);
  }
  ~CapturedStderr() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(file_);
  }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  /// Returns everything captured so far.
  std::string text() const {
    std::string out(static_cast<std::size_t>(::lseek(file_, 0, SEEK_END)), '\0');
    REQUIRE(::pread(file_, out.data(), out.size(), 0) == static_cast<ssize_t>(out.size()));
    return out;
  }
  bool has(std::string_view part) const {
    const std::string so_far = text();
    INFO(so_far);
    return so_far.find(part) != std::string::npos;
  }
  /// Waits until another thread has written `part`. Returns false if that takes more than a minute,
  /// which happens only if the tested code is broken.
  bool comes_to_have(std::string_view part) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!has(part)) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

 private:
  int before_;
  int file_;
};

}  // namespace iwarp::test
