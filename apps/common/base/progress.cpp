// SPDX-License-Identifier: Apache-2.0
// Draws the progress bar. Each update begins with a carriage return and overwrites the previous
// bar.
#include "common/base/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "common/base/units.hpp"

namespace iwarp::apps {

Progress::Progress(std::string name, std::uint64_t total, bool quiet)
    : name_(std::move(name)),
      total_(total),
      shown_(!quiet && isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      drawn_(start_) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::update(std::uint64_t done) {
  if (!shown_) return;
  const auto now = Clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100) && done < total_) return;
  drawn_ = now;
  fmt::print(stderr, "\r{}\x1b[K", progress_line(name_, done, total_, now - start_));
}

std::chrono::nanoseconds Progress::elapsed() const { return Clock::now() - start_; }

std::string progress_line(const std::string& name, std::uint64_t done, std::uint64_t total,
                          std::chrono::nanoseconds elapsed) {
  constexpr std::size_t kWidth = 24;
  const double part = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
  const auto filled = static_cast<std::size_t>(part * kWidth);
  return fmt::format("{} {:3.0f}% [{}{}] {} of {}  {}", name, part * 100, std::string(filled, '#'),
                     std::string(kWidth - filled, '.'), format_octets(static_cast<double>(done)),
                     format_octets(static_cast<double>(total)), format_rate(done, elapsed));
}

}  // namespace iwarp::apps
