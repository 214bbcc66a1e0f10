// SPDX-License-Identifier: Apache-2.0
// Selects the message sizes of the jobs, and the sizes of their receive calls.
#include "cost/bench/sweep.hpp"

namespace iwarp::apps::cost {

std::vector<Job> sweep(double seconds, const std::string& cpus) {
  std::vector<Job> out;
  Job job{.seconds = seconds, .cpus = cpus};
  for (const std::uint64_t size : {64U, 256U, 1024U, 4096U, 16384U, 65536U, 262144U, 1048576U}) {
    job.size = size;
    out.push_back(job);
  }
  for (const std::uint64_t size : {16384U, 65536U, 1048576U}) {
    for (const std::uint64_t read : {2048U, 8192U, 32768U}) {
      job.size = size;
      job.read = read;
      out.push_back(job);
    }
  }
  return out;
}

}  // namespace iwarp::apps::cost
