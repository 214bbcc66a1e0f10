// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "adversary/hooks.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::adversary {

bool is_recorded() { return !settings().adversary_record.empty(); }

void note(std::string_view what) {
  // The file stays open until the process ends.
  static const int kFile =
      is_recorded() ? ::open(settings().adversary_record.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)
                    : -1;
  if (kFile < 0) return;
  static const auto kStart = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::milli> at = std::chrono::steady_clock::now() - kStart;
  const std::string line =
      fmt::format("{:10.3f} ms, process {}: {}\n", at.count(), ::getpid(), what);
  // A record that lacks lines is still of use.
  [[maybe_unused]] const auto written = ::write(kFile, line.data(), line.size());
}

}  // namespace iwarp::rdma_core::adversary
