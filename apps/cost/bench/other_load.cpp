// SPDX-License-Identifier: Apache-2.0
// Compares the time that the kernel counts for the processors with the time that it counts for this
// process.
#include "cost/bench/other_load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "usage/usage.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr double kNsPerSecond = 1e9;

std::optional<ProcessorTime> processor_time_now() {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return std::nullopt;
  std::ifstream stat("/proc/stat");
  return processor_time(stat, processors);
}

/// Returns the processor time of this process and of the child processes for which it has waited.
double own_ns() { return usage::processor_ns(RUSAGE_SELF) + usage::processor_ns(RUSAGE_CHILDREN); }

}  // namespace

std::optional<ProcessorTime> processor_time(std::istream& stat, const cpu_set_t& processors) {
  enum Column : std::uint8_t {
    kUser,
    kNice,
    kSystem,
    kIdle,
    kWait,
    kIrq,
    kSoftIrq,
    kSteal,
    kColumns
  };
  const auto tick = kNsPerSecond / static_cast<double>(sysconf(_SC_CLK_TCK));
  std::optional<ProcessorTime> out;
  for (std::string text; std::getline(stat, text);) {
    std::istringstream line(text);
    std::string name;
    line >> name;
    if (!name.starts_with("cpu") || name == "cpu") continue;
    const auto number = std::strtoul(name.c_str() + 3, nullptr, 10);
    if (number >= CPU_SETSIZE || !CPU_ISSET(number, &processors)) continue;
    std::vector<double> ticks(kColumns);
    for (auto& one : ticks) line >> one;
    if (!out) out.emplace();
    out->used += tick * (ticks[kUser] + ticks[kNice] + ticks[kSystem] + ticks[kSteal]);
    out->total += tick * std::accumulate(ticks.begin(), ticks.end(), 0.0);
  }
  return out;
}

OtherLoad::OtherLoad() : start_(processor_time_now()), own_at_start_(own_ns()) {}

std::optional<double> OtherLoad::share() const {
  const auto now = processor_time_now();
  if (!start_ || !now || now->total <= start_->total) return std::nullopt;
  const auto others = now->used - start_->used - (own_ns() - own_at_start_);
  return std::clamp(others / (now->total - start_->total), 0.0, 1.0);
}

}  // namespace iwarp::apps::cost
