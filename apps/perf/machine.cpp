// SPDX-License-Identifier: Apache-2.0
// Reads the properties of the machine from uname(2) and proc(5).
#include "perf/machine.hpp"

#include <fmt/chrono.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

namespace iwarp::apps::perf {

namespace {

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return "";
}

}  // namespace

Machine this_machine() {
  utsname name{};
  uname(&name);
  return {.system = name.sysname,
          .node = name.nodename,
          .kernel = name.release,
          .build = name.version,
          .architecture = name.machine,
          .cpu = cpu_model(),
          .processors = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN))};
}

std::vector<std::string> command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> out;
  for (std::string word; std::getline(in, word, '\0');) out.push_back(word);
  return out;
}

std::string date_now() {
  const auto now = std::chrono::system_clock::now();
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

}  // namespace iwarp::apps::perf
