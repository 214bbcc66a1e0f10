// SPDX-License-Identifier: Apache-2.0
// Lines on standard error. One write(2) each, so that threads and processes do not mix them.
#include "refusal.hpp"

#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>

#include "settings.hpp"

namespace iwarp::rdma_core {
namespace {

void say(const std::string& text) {
  const std::string line = "iwarp: " + text + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

bool first_time(const char* what) {
  static auto& mutex = *new std::mutex;  // never destroyed, as all that outlives main()
  static auto& said = *new std::set<std::string_view>;
  const std::lock_guard lock(mutex);
  return said.insert(what).second;
}

}  // namespace

void refuse(const char* what, const char* why) {
  if (settings().log == Log::kOff || !first_time(what)) return;
  say(std::string(what) + " is not supported: " + why);
}

int refused(const char* what, const char* why) {
  refuse(what, why);
  return EOPNOTSUPP;
}

void fail(int code) { throw std::system_error(code, std::generic_category()); }

void log_refusal(const std::string& line) {
  if (settings().log != Log::kOff) say(line);
}

void log_connection(const std::string& line) {
  if (settings().log == Log::kConnections) say(line);
}

}  // namespace iwarp::rdma_core
