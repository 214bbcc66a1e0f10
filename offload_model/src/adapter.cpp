// SPDX-License-Identifier: Apache-2.0
// Counts misses, and turns them into traffic and waiting. The sizes of the caches are parameters.
#include "iwarp/offload_model/adapter.hpp"

#include <algorithm>
#include <cmath>

#include "iwarp/offload_model/performance.hpp"

namespace iwarp::offload_model {

namespace {

/// Returns the share of random accesses to `used` entries that miss a cache of `held` entries. A
/// cache of 0 entries is not modelled.
double share_of_misses(double used, double held) {
  return held == 0 ? 0 : std::max(0.0, 1 - held / used);
}

}  // namespace

CacheMisses cache_misses(const Parameters& p, const Workload& w) {
  // Requests of one list follow each other on a queue pair, so only the first one may miss.
  return {.context = share_of_misses(w.qps, p.context_cache) / std::max(w.burst, p.doorbell_batch),
          .region = share_of_misses(w.regions, p.region_cache),
          // The card reads the pages of a long message ahead.
          .translation = share_of_misses(w.memory / p.page, p.translation_cache),
          .request = share_of_misses(w.depth * w.qps, p.request_cache)};
}

std::string_view most_missed(const CacheMisses& misses) {
  const auto all = {std::pair{misses.context, std::string_view("context cache")},
                    std::pair{misses.region, std::string_view("region cache")},
                    std::pair{misses.translation, std::string_view("translation cache")},
                    std::pair{misses.request, std::string_view("request cache")}};
  return std::max(all).second;
}

PcieTraffic miss_traffic(const PcieLink& link, const CacheMisses& misses, double context_size) {
  constexpr double kLine = 64;
  auto out = misses.context * card_reads(link, context_size);
  out += misses.context * card_writes(link, context_size);
  out += (misses.region + misses.translation + misses.request) * card_reads(link, kLine);
  return out;
}

double engine_ns(const Parameters& p, const CacheMisses& misses) {
  const auto units = std::max(1.0, p.nic_queue_pair / p.nic_message);
  return p.nic_message + (misses.at_either_end() + misses.request) * p.pcie_read / units;
}

double cliff_of(const std::function<double(double)>& rate, double share, double most) {
  double peak = 0;
  double high = 1;
  for (; rate(high) >= share * peak; high *= 2) {
    if (high >= most) return INFINITY;
    peak = std::max(peak, rate(high));
  }
  high = change_between(high / 2, high, [&](double n) { return rate(n) < share * peak; });
  return high <= most ? high : INFINITY;
}

}  // namespace iwarp::offload_model
