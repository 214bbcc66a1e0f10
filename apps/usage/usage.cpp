// SPDX-License-Identifier: Apache-2.0
// Reads the kernel's accounting of this process, subtracts one reading from another, and reads and
// writes one flat JSON object, all of whose members are required.
#include "usage/usage.hpp"

#include <dirent.h>
#include <linux/tcp.h>  // not together with the C library's netinet/tcp.h
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "iwarp/verbs/counter_names.hpp"
#include "usage/json_number.hpp"

namespace iwarp::apps::usage {

namespace {

/// What Observed has besides the counters of the stack, with its name in JSON.
constexpr std::array<std::pair<const char*, double Observed::*>, 4> kNumbers{{
    {"segments_sent", &Observed::segments_sent},
    {"segments_received", &Observed::segments_received},
    {"context_switches", &Observed::switches},
    {"cpu_ns", &Observed::cpu_ns},
}};

/// Returns the number of segments that the open TCP connections of this process have sent,
/// including acknowledgements.
double tcp_segments_sent() {
  DIR* const open = opendir("/proc/self/fd");
  if (open == nullptr) return 0;
  double out = 0;
  while (const auto* entry = readdir(open)) {
    tcp_info info{};
    socklen_t size = sizeof info;
    // getsockopt() fails for a descriptor that is not a TCP socket; skip this descriptor.
    const int fd = std::atoi(entry->d_name);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) out += info.tcpi_segs_out;
  }
  closedir(open);
  return out;
}

}  // namespace

double processor_ns(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

Observed used_so_far(const verbs::Counters& counters) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Observed out{.counters = counters};
  out.cpu_ns = processor_ns(RUSAGE_SELF);
  out.switches = static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw);
  out.segments_sent = tcp_segments_sent();
  return out;
}

Observed difference(const Observed& after, const Observed& before) {
  auto out = after;
  for (const auto& counter : verbs::counter_names()) {
    out.counters.*counter.member -= before.counters.*counter.member;
  }
  for (const auto& [name, member] : kNumbers) out.*member -= before.*member;
  return out;
}

nlohmann::json to_json(const Observed& observed) {
  nlohmann::json out;
  for (const auto& counter : verbs::counter_names()) {
    out[counter.name] = observed.counters.*counter.member;
  }
  for (const auto& [name, member] : kNumbers) out[name] = observed.*member;
  return out;
}

Observed observed_from_json(const nlohmann::json& json) {
  Observed out;
  for (const auto& counter : verbs::counter_names()) {
    read_number(json, counter.name, out.counters.*counter.member);
  }
  for (const auto& [name, member] : kNumbers) read_number(json, name, out.*member);
  return out;
}

}  // namespace iwarp::apps::usage
