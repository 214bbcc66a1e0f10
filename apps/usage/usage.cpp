// SPDX-License-Identifier: Apache-2.0
// Reads the kernel's accounting of this process, and subtracts one reading from another.
#include "usage/usage.hpp"

#include <sys/resource.h>

#include "iwarp/verbs/counter_names.hpp"

namespace iwarp::apps::usage {

double processor_ns(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

Observed used_so_far() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Observed out;
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
  out.segments_sent -= before.segments_sent;
  out.segments_received -= before.segments_received;
  out.switches -= before.switches;
  out.cpu_ns -= before.cpu_ns;
  return out;
}

}  // namespace iwarp::apps::usage
