// SPDX-License-Identifier: Apache-2.0
// Derives from processor time what a user observes: throughput and what limits it, processor load
// at a rate, latency, and the message sizes from which one way of moving data is better than
// another.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "iwarp/offload_model/cost.hpp"

namespace iwarp::offload_model {

/// Throughput of all connections of a workload.
struct Throughput {
  double gbps = 0;  ///< Gb/s of message octets
  /// What limits the throughput: "link", "sender's processor", "receiver's processor", "card",
  /// "memory bus", "number of messages in flight", "PCI Express", "queue pair", whose requests a
  /// card fetches one after the other, or, if the throughput would be higher without misses, the
  /// cache that a message misses most.
  std::string_view limit;
};
/// Returns the maximum throughput of these connections with `cores` processors on either side, and
/// what limits it. `application` is the program's own processor time per octet at each end, in
/// nanoseconds.
Throughput throughput(Mode mode, const Parameters& p, const Workload& w, double cores,
                      double application = 0);
/// A number for each end: of the host that sends data, and of the one that receives it.
struct Ends {
  double tx = 0;
  double rx = 0;
};
/// Returns the octets of payload on the memory bus of each host for one message: DMA moves each
/// octet once, and each copy reads and writes it. Software iWARP copies at both ends, in addition
/// to the copies of the kernel.
Ends bus_octets(Mode mode, const Parameters& p, const Workload& w);

/// Messages that wait for a server.
struct Queue {
  double waiting = 0;  ///< mean number of messages that wait
  double mean_ns = 0;  ///< mean time that a message waits
  double p99_ns = 0;   ///< 99 % of the messages wait at most this long
};
/// Returns the queue in front of `servers` equal servers, each of which needs `service_ns` for a
/// message on average and is busy for a share `load` of the time. Assumes that messages arrive
/// independently of each other and that service times are distributed exponentially (M/M/c, with
/// the C formula of Erlang, 1917). Messages of equal cost wait for about half as long. The times
/// are infinite if `load` is 1 or more.
Queue queue_of(double load, double servers, double service_ns);

/// What happens at a rate that does not depend on how fast messages are served.
struct Loaded {
  double busy = 0;     ///< share of what the limiting resource carries; from 1 on, the queue grows
  double wait_ns = 0;  ///< 99 % of the messages wait at most this long for that resource
  double cores = 0;    ///< busy processors of both ends. One that polls is always busy.
  double memory = 0;   ///< share of the memory bandwidth of the busier end
};
/// Returns what happens at `gbps` Gb/s of message octets, if the throughput with `cores` processors
/// is `most`.
Loaded loaded_at(Mode mode, const Parameters& p, const Workload& w, const Throughput& most,
                 double cores, double gbps);

/// Returns the number of processors that are busy at each end at `gbps` Gb/s of message octets. May
/// exceed the number that the hosts have.
Ends load_at(Mode mode, const Parameters& p, const Workload& w, double gbps);

/// Returns the one-way latency in nanoseconds, from the sender's call until the receiving program
/// sees the data. For an RNIC, this is the latency of an RDMA Write, plus the latency of an STag
/// advertisement (if `advertise`) and of `registrations` registrations.
double latency_ns(Mode mode, const Parameters& p, const Workload& w, bool advertise = false,
                  double registrations = 0);

/// Returns the one-way latency with everything that delays a message of this workload: the exchange
/// of an STag and, unless registrations are cached, one registration at each end.
double delivery_ns(Mode mode, const Parameters& p, const Workload& w);

/// The message size above which one alternative is better than another. The cost of registering
/// rises in steps of a page. So near the crossover, one octet more can reverse the result. From
/// `octets` on, no step reverses it.
struct Crossover {
  /// Whether there is a crossover.
  enum class Kind {
    kAlways,  ///< the alternative is better for every size
    kFrom,    ///< the alternative is better from some size on
    kNever,   ///< the alternative is not better for large sizes
  };
  Kind kind = Kind::kNever;
  double first = 0;   ///< kFrom: the smallest size for which the alternative is better
  double octets = 0;  ///< kFrom: the alternative is better for this size and all larger sizes
};
/// The largest message, in octets, at which a search for a crossover looks.
inline constexpr double kLargestMessage = 1 << 30;
/// Returns whether an alternative is better for messages of `size` octets at a host.
using Better = std::function<bool(const Parameters&, double size)>;
/// Finds the crossover among sizes from 1 octet to 1 GiB. Examines the sizes just before and just
/// after each step of the costs.
Crossover crossover_of(const Better& better, const Parameters& p);
/// Returns the first number above `low`, and at most `high`, at which the result of `holds` differs
/// from its result at `low`. It must change exactly once between them.
double change_between(double low, double high, const std::function<bool(double)>& holds);

/// Returns a comparison that is true if `mode` costs less processor time than `other`, with the
/// registrations and advertisements of the workload.
Better cheaper(Mode mode, Mode other, const Workload& w);
/// Returns a comparison that is true if an RDMA card has less latency than `other`, see
/// latency_ns().
Better sooner(Mode other, const Workload& w, bool advertise, double registrations);

/// Returns u*, the number of transfers after which registering both buffers has paid off, or
/// nullopt if registration never pays off.
std::optional<double> reuse_needed(const Parameters& p, const Workload& w);

}  // namespace iwarp::offload_model
