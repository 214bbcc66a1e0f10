// SPDX-License-Identifier: Apache-2.0
// Reads figures from /proc, and computes further figures from them.
#include "figures.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace iwarp::load {
namespace {

// Returns the number that follows `key` in a file of /proc.
std::size_t number_in(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    std::size_t value = 0;
    if (word == key && in >> value) return value;
  }
  throw std::runtime_error(std::string(file) + " has no " + key);
}

}  // namespace

Usage usage() {
  namespace fs = std::filesystem;
  const auto open = std::distance(fs::directory_iterator("/proc/self/fd"), {});
  // Leaves out the descriptor of the directory itself.
  return {.memory = number_in("/proc/self/status", "RssAnon:") * 1024,
          .descriptors = static_cast<std::size_t>(open) - 1};
}

std::size_t tcp_memory() {
  return number_in("/proc/net/sockstat", "mem") * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::chrono::duration<double> processor_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return std::chrono::duration<double>(seconds(used.ru_utime) + seconds(used.ru_stime));
}

std::size_t raise_descriptors(std::size_t wanted) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  rlimit higher = limit;
  higher.rlim_cur = std::max<rlim_t>(limit.rlim_cur, wanted);
  higher.rlim_max = std::max(limit.rlim_max, higher.rlim_cur);
  if (setrlimit(RLIMIT_NOFILE, &higher) != 0) {
    higher = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &higher);
  }
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

void Latencies::add(Clock::duration time) {
  const auto ns = static_cast<std::uint64_t>(std::max<Clock::duration::rep>(time.count(), 16));
  const auto power = static_cast<unsigned>(std::bit_width(ns)) - 1;
  const auto part = (ns >> (power - 4)) & 15;
  ++classes_[power * 16 + part];
  ++count_;
}

std::chrono::duration<double, std::micro> Latencies::quantile(double share) const {
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    seen += classes_[i];
    if (seen < rank || seen == 0) continue;
    const double upper =
        std::ldexp(16.0 + static_cast<double>(i % 16) + 1, static_cast<int>(i / 16) - 4);
    return std::chrono::duration<double, std::nano>(upper);
  }
  return {};
}

}  // namespace iwarp::load
