// SPDX-License-Identifier: Apache-2.0
// A progress bar with the transfer rate on standard error. If standard error is not a terminal, no
// bar is drawn.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace iwarp::apps {

class Progress {
 public:
  Progress(std::string name, std::uint64_t total, bool quiet);
  /// Erases the bar, so that subsequent output begins on an empty line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Redraws the bar, at most ten times per second.
  void update(std::uint64_t done);
  std::chrono::nanoseconds elapsed() const;

 private:
  using Clock = std::chrono::steady_clock;
  const std::string name_;
  const std::uint64_t total_;
  const bool shown_;
  const Clock::time_point start_;
  Clock::time_point drawn_;
};

/// Returns the bar as text, without the carriage return: "name  45% [####.....]  1.4 GiB of 3.0 GiB
/// 812 MiB/s".
std::string progress_line(const std::string& name, std::uint64_t done, std::uint64_t total,
                          std::chrono::nanoseconds elapsed);

}  // namespace iwarp::apps
