// SPDX-License-Identifier: Apache-2.0
// Multiplies counters by costs. The equations of cost.cpp compute how many operations a message
// should need; account() uses the numbers that a run counted.
#include "iwarp/offload_model/live.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace iwarp::offload_model
