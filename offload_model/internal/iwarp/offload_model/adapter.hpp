// SPDX-License-Identifier: Apache-2.0
// The engine of an RNIC: processing units that serve one queue pair each, and caches for what the
// card keeps in memory of the host. A miss costs a read over PCI Express, so throughput falls where
// the queue pairs, regions, pages or requests in use outgrow their cache.
#pragma once

#include <functional>

#include "iwarp/offload_model/cost.hpp"
#include "iwarp/offload_model/pcie.hpp"

namespace iwarp::offload_model {

/// Returns the link between the hosts and their cards. It has no lanes if the bus is not modelled.
inline PcieLink pcie_of(const Parameters& p) {
  return {.generation = p.pcie_generation, .lanes = p.pcie_lanes};
}

/// How often one message misses each cache of a card, if messages use queue pairs, regions and
/// pages at random. A card that evicts the least recently used entry misses more often if messages
/// use them in turn.
struct CacheMisses {
  double context = 0;      ///< state of the queue pair
  double region = 0;       ///< key and permissions of the memory region
  double translation = 0;  ///< physical address of a page
  double request = 0;      ///< a work request that the card has fetched before
  /// Returns the misses that both cards have; requests are in the cache of the initiator's card.
  double at_either_end() const { return context + region + translation; }
};
CacheMisses cache_misses(const Parameters& p, const Workload& w);

/// Returns the name of the cache that a message misses most often, for example "context cache".
std::string_view most_missed(const CacheMisses& misses);

/// Returns the traffic of the misses: each reads a cache line or, for a queue pair, its state,
/// which the card also writes back because it changes with each message.
PcieTraffic miss_traffic(const PcieLink& link, const CacheMisses& misses, double context_size);

/// Returns the nanoseconds per message of all processing units together. A unit waits for each miss
/// of its message, while the others work.
double engine_ns(const Parameters& p, const CacheMisses& misses);

/// Returns the smallest number up to `most` from which on `rate` is less than `share` of the
/// highest rate for a smaller number, or infinity. Above its peak, `rate` must not rise again.
double cliff_of(const std::function<double(double)>& rate, double share, double most);

}  // namespace iwarp::offload_model
