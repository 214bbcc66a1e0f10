// SPDX-License-Identifier: Apache-2.0
// Fits five unknown costs to runs of many message sizes. If messages are small, the numbers of
// calls and of pieces correlate, so runs alone cannot separate their costs. Therefore the
// micro-benchmarks are added as observations of low weight.
#include "iwarp/offload_model/socket_fit.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace iwarp::offload_model {

namespace {

/// The weight of a micro-benchmark relative to the weight of one run. With this low weight,
/// micro-benchmarks determine only costs that the runs do not determine.
constexpr double kPriorWeight = 0.1;

double number(std::uint64_t n) { return static_cast<double>(n); }

std::vector<Observation> with_priors(const std::vector<Record>& runs, const Parameters& host) {
  std::vector<Observation> out;
  std::ranges::transform(runs, std::back_inserter(out), observation_of);
  const SocketCosts prior{host.syscall_tx, host.syscall_rx, host.segment_tx + host.segment_rx,
                          host.copy_tx + host.copy_rx, host.wakeup};
  for (std::size_t i = 0; i < prior.size(); ++i) {
    Observation o{.counts = std::vector(kUnknowns, 0.0), .cost = prior[i], .weight = kPriorWeight};
    o.counts[i] = 1;
    if (o.cost > 0) out.push_back(o);
  }
  return out;
}

}  // namespace

Observation observation_of(const Record& r) {
  const auto sum = [&r](std::uint64_t verbs::Counters::* counter) {
    return number(r.tx.counters.*counter + r.rx.counters.*counter);
  };
  using verbs::Counters;
  return {.counts = {sum(&Counters::send_calls),
                     sum(&Counters::receive_calls) + sum(&Counters::wait_calls),
                     r.tx.segments_sent + r.rx.segments_sent, sum(&Counters::octets_sent),
                     r.tx.switches + r.rx.switches},
          .cost = r.cpu_ns(),
          .known = r.far_ns};
}

SocketCosts fit_sockets(const std::vector<Record>& runs, const Parameters& host) {
  // If the error of a prediction p were divided by the measurement m alone, predictions that are
  // too low would count less than predictions that are too high. Weights from the previous fit make
  // both count the same: the weighted error is (p - m)^2 / (p m).
  constexpr int kRounds = 5;
  auto observations = with_priors(runs, host);
  auto costs = fit_costs(observations);
  for (int round = 0; round < kRounds; ++round) {
    for (auto& o : observations) {
      const auto said = predict(costs, o);
      const auto prior = std::ranges::count(o.counts, 0.0) == kUnknowns - 1;
      if (said > 0) o.weight = (prior ? kPriorWeight : 1) * o.cost / said;
    }
    costs = fit_costs(observations);
  }
  SocketCosts out{};
  std::ranges::copy(costs, out.begin());
  return out;
}

ErrorSummary leave_one_size_out(const std::vector<Record>& runs, const Parameters& host) {
  std::set<std::uint64_t> sizes;
  for (const auto& run : runs) sizes.insert(run.size);
  std::vector<double> errors;
  for (const auto size : sizes) {
    std::vector<Record> others;
    std::ranges::copy_if(runs, std::back_inserter(others),
                         [size](const Record& r) { return r.size != size; });
    const auto costs = fit_sockets(others, host);
    for (const auto& run : runs) {
      if (run.size == size) errors.push_back(relative_error(costs, observation_of(run)));
    }
  }
  return summarise(std::move(errors));
}

Parameters with_sockets(Parameters host, const SocketCosts& costs) {
  const auto cost = [&costs](Unknown unknown) { return costs[static_cast<std::size_t>(unknown)]; };
  host.syscall_tx = cost(Unknown::kSend);
  host.syscall_rx = cost(Unknown::kReceive);
  // One cost for a segment of any size: the run counts segments, not their sizes.
  host.segment_tx = host.segment_rx = cost(Unknown::kPiece) / 2;
  host.small_segment_tx = host.small_segment_rx = host.segment_tx;
  host.copy_tx = host.copy_rx = cost(Unknown::kOctet) / 2;
  host.wakeup = cost(Unknown::kSwitch);
  return host;
}

}  // namespace iwarp::offload_model
