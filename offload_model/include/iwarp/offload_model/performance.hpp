// SPDX-License-Identifier: Apache-2.0
// From processor time to what a user sees: throughput and what limits it, processor load at a rate,
// latency, and the sizes from which one way of moving data is better than another.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "iwarp/offload_model/cost.hpp"

namespace iwarp::offload_model {

struct Throughput {
  double gbps = 0;  ///< of message octets
  std::string_view
      limit;  ///< "link", "sender's processor", "receiver's processor", "card", "memory bus"
};
/// The most that one connection moves with `cores` processors on either side. `application` is the
/// program's own processor time per octet, at both ends, in nanoseconds.
Throughput throughput(Mode mode, const Parameters& p, const Workload& w, double cores,
                      double application = 0);
/// The card's own time for a message, whoever waits for it, in nanoseconds.
double card_ns(const Parameters& p, double size);

/// Processors kept busy at `gbps` of message octets; both sides, no upper bound.
struct Load {
  double tx = 0;
  double rx = 0;
};
Load load_at(Mode mode, const Parameters& p, const Workload& w, double gbps);

/// One way, from the call to the data being seen, in nanoseconds. RNIC: an RDMA Write; an STag
/// advertisement and `registrations` on the critical path are added.
double latency_ns(Mode mode, const Parameters& p, const Workload& w, bool advertise = false,
                  double registrations = 0);

/// From which message size on something holds.
struct Crossover {
  enum class Kind { kAlways, kFrom, kNever };
  Kind kind = Kind::kNever;
  double octets = 0;  ///< with kFrom
};
/// The smallest size, 1 octet to 1 GiB, for which `better` holds.
Crossover first_size(const std::function<bool(double)>& better);

/// (d) costs less processor time than `other`, as the workload has registration and advertisement.
Crossover cpu_crossover(const Parameters& p, const Workload& w, Mode other = Mode::kSockets);
/// Of (d) and (a): the straight lines through both costs, without steps: (F_d - F_a) / (m_a - m_d).
Crossover linear_crossover(const Parameters& p, const Workload& w);
/// (d) is there sooner than `other`.
Crossover latency_crossover(const Parameters& p, const Workload& w, bool advertise,
                            double registrations, Mode other = Mode::kSockets);
/// Sending without copy pays: pinning and a notification against the copy from memory.
Crossover zerocopy_crossover(const Parameters& p);
/// u*: transfers after which registering both buffers has paid for itself; nullopt: never.
std::optional<double> reuse_needed(const Parameters& p, const Workload& w);

}  // namespace iwarp::offload_model
