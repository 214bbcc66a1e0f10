// SPDX-License-Identifier: Apache-2.0
// Combines several runs into medians and shares.
#include "iwarp/offload_model/record.hpp"

#include <algorithm>
#include <map>

namespace iwarp::offload_model {

Kind kind_of(const Record& r) { return {r.mode, r.size, r.read, r.fpdu, r.crc, r.markers}; }

std::vector<Record> medians(const std::vector<Record>& records) {
  std::map<Kind, std::vector<Record>> kinds;
  for (const auto& r : records) kinds[kind_of(r)].push_back(r);
  std::vector<Record> out;
  for (auto& [kind, same] : kinds) {
    // Take the run with the median cost, and all counters of that run. If the median of each
    // counter were taken separately, the counters would come from different runs.
    std::ranges::sort(same, {}, &Record::cpu_ns);
    out.push_back(same[(same.size() - 1) / 2]);
  }
  return out;
}

std::vector<MeasuredShare> measured_shares(const Parameters& host,
                                           const std::vector<Record>& records) {
  struct Sum {
    double octets = 0;  // octets sent; each octet is copied twice, into the kernel and out of it
    double all = 0;
  };
  std::uint64_t read = 0;
  for (const auto& record : records) {
    if (record.mode == "sockets") read = std::max(read, record.read);
  }
  std::map<std::uint64_t, Sum> by_size;
  for (const auto& record : records) {
    if (record.mode != "sockets" || record.read != read) continue;
    auto& sum = by_size[record.size];
    sum.octets += static_cast<double>(record.tx.counters.octets_sent);
    sum.all += record.cpu_ns();
  }
  std::vector<MeasuredShare> out;
  for (const auto& [size, sum] : by_size) {
    if (sum.all <= 0) continue;
    const auto memcpy_share = sum.octets * 2 * host.copy_llc / sum.all;
    const auto octet_share = sum.octets * (host.copy_tx + host.copy_rx) / sum.all;
    out.push_back({static_cast<double>(size), std::min({1.0, memcpy_share, octet_share}),
                   std::min(1.0, std::max(memcpy_share, octet_share))});
  }
  return out;
}

}  // namespace iwarp::offload_model
