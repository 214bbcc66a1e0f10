// SPDX-License-Identifier: Apache-2.0
// Reads figures from /proc, and computes further figures from them.
#include "figures.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
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

}  // namespace iwarp::load
