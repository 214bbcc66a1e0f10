// SPDX-License-Identifier: Apache-2.0
// Multiplies counters by costs, and combines several runs into medians and shares. The equations of
// cost.cpp compute how many operations a message should need; account() uses the numbers that a run
// counted.
#include "iwarp/offload_model/record.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace iwarp::offload_model {

double segments_of(double octets, double calls, double limit) {
  return std::max(std::min(octets, calls), std::ceil(octets / limit));
}

Ledger account(const Parameters& p, const Observed& run) {
  using enum Component;
  const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
  const auto& c = run.counters;
  Ledger out;
  out[kCopy] = number(c.octets_sent) * p.copy_tx + number(c.octets_received) * p.copy_rx;
  out[kChecksum] = number(c.octets_sent + c.octets_received) * p.checksum;
  out[kProtocol] =
      segments_ns(p.small_segment_tx, p.segment_tx, number(c.octets_sent), run.segments_sent) +
      segments_ns(p.small_segment_rx, p.segment_rx, number(c.octets_received),
                  run.segments_received);
  // The counters do not separate the directions. So assign the passes to them by octets.
  const auto moved = number(c.octets_sent + c.octets_received);
  const auto sent = moved > 0 ? number(c.octets_sent) / moved : 0;
  const auto work = [&](double share, std::uint64_t fpdus, std::uint64_t markers) {
    return Work{.copied = share * number(c.octets_copied),
                .crced = share * number(c.octets_crced),
                .fpdus = number(fpdus),
                .markers = number(markers)};
  };
  auto tx = work(sent, c.fpdus_sent, c.markers_sent);
  // Payload that was not copied is an element of a gather list, and so is what precedes it.
  if (tx.copied < sent * moved / 2) tx.pieces = 2 * tx.fpdus;
  out += price(p, tx, true);
  out += price(p, work(1 - sent, c.fpdus_received, c.markers_received), false);
  out[kSyscall] =
      number(c.send_calls) * p.syscall_tx + number(c.receive_calls + c.wait_calls) * p.syscall_rx;
  out[kWakeup] = run.switches * p.wakeup;
  out[kPost] = number(c.completions) * (p.post + p.completion);
  return out;
}

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
