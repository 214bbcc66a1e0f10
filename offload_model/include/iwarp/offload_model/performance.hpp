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

/// From which message size on something is better. Costs have steps (a page, a segment, a call), so
/// near the crossover an octet more can undo it; `octets` lies above the last such step.
struct Crossover {
  enum class Kind { kAlways, kFrom, kNever };
  Kind kind = Kind::kNever;
  double first = 0;   ///< with kFrom: the smallest size for which it is better
  double octets = 0;  ///< with kFrom: it is better for this size and for every larger one
};
/// Whether something is better for a message of `size` octets at a host with these parameters.
using Better = std::function<bool(const Parameters&, double size)>;
/// Looks at sizes from 1 octet to 1 GiB, and at each side of the host's steps.
Crossover crossover_of(const Better& better, const Parameters& p);

/// `mode` costs less processor time than `other`, as the workload has registration and
/// advertisement.
Better cheaper(Mode mode, Mode other, const Workload& w);
/// (d) is there sooner than `other`.
Better sooner(Mode other, const Workload& w, bool advertise, double registrations);

/// Of (d) and (a): the straight lines through both costs, without steps: (F_d - F_a) / (m_a - m_d).
Crossover linear_crossover(const Parameters& p, const Workload& w);
/// Sending without copy pays: pinning and a notification against the copy from memory.
Crossover zerocopy_crossover(const Parameters& p);
/// u*: transfers after which registering both buffers has paid for itself; nullopt: never.
std::optional<double> reuse_needed(const Parameters& p, const Workload& w);

}  // namespace iwarp::offload_model
