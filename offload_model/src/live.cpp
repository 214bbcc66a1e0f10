// SPDX-License-Identifier: Apache-2.0
// Multiplies counters by costs. The equations of cost.cpp compute how many operations a message
// should need; account() uses the numbers that a run counted.
#include "iwarp/offload_model/live.hpp"

#include <algorithm>
#include <cmath>

#include "limits.hpp"

namespace iwarp::offload_model {

double segments_of(double octets, double calls, double limit) {
  return std::max(std::min(octets, calls), std::ceil(octets / limit));
}

Ledger account(const Parameters& p, const Observed& run) {
  using enum Component;
  const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
  const auto& c = run.counters;
  Ledger out;
  out[kCopy] = number(c.octets_sent) * p.copy_tx + number(c.octets_received) * p.copy_rx +
               number(c.octets_copied) * p.copy_llc;
  out[kChecksum] =
      number(c.octets_sent + c.octets_received) * p.checksum + number(c.octets_crced) * p.crc;
  out[kProtocol] = run.segments_sent * p.segment_tx + run.segments_received * p.segment_rx +
                   number(c.fpdus_sent) * (p.fpdu + kPiecesPerFpdu * p.iovec) +
                   number(c.fpdus_received) * p.fpdu +
                   number(c.markers_sent + c.markers_received) * p.marker;
  out[kSyscall] =
      number(c.send_calls) * p.syscall_tx + number(c.receive_calls + c.wait_calls) * p.syscall_rx;
  out[kWakeup] = run.switches * p.wakeup;
  out[kPost] = number(c.completions) * (p.post + p.completion);
  return out;
}

}  // namespace iwarp::offload_model
