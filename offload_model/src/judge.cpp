// SPDX-License-Identifier: Apache-2.0
// Fits five unknown costs of sockets to runs of many message sizes, and compares the model with
// recorded runs. If messages are small, the numbers of calls and of pieces correlate, so runs alone
// cannot separate their costs. Therefore the micro-benchmarks are added as observations of low
// weight.
#include "iwarp/offload_model/judge.hpp"

#include <algorithm>
#include <cmath>
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

namespace {

/// Returns, for each kind of run, the spread of the costs of identical runs: the distance between
/// the quartiles of the costs, divided by the median cost.
std::map<Kind, double> spreads(const std::vector<Record>& runs) {
  std::map<Kind, std::vector<double>> costs;
  for (const auto& r : runs)
    costs[kind_of(r)].push_back(r.cpu_ns() / static_cast<double>(r.messages));
  std::map<Kind, double> out;
  for (const auto& [kind, values] : costs) out[kind] = sample_of(values).spread;
  return out;
}

/// Returns how much memory a processor touches until the stream returns to the same octets of a
/// buffer: the application's buffers, the transmit ring, what TCP holds, and the staging area. With
/// two processors, each touches the buffers of its end and of TCP.
double working_set(const Record& run) {
  constexpr double kInFlight = 16;
  constexpr double kRing = 1 << 20;
  const auto size = static_cast<double>(run.size);
  const auto in_flight = std::min(kInFlight * size, kRing);
  // The largest call of a turn of 1 MiB sends half of it, and the staging area has the same size.
  const auto end = size + std::min(in_flight, kRing / 2);
  return in_flight + (run.cpus == "same" ? 2 * end : end);
}

/// Returns where `octets` lies between the two working sets, on a logarithmic scale: 0 to 1.
double between_sets(double octets) {
  return std::clamp(std::log(octets / kWorkingSets[0]) /
                        std::log(static_cast<double>(kWorkingSets[1]) / kWorkingSets[0]),
                    0.0, 1.0);
}

/// Returns what the kernel's copies cost because a large message leaves the near caches before the
/// stream returns to its buffer. Only copies from or to the application's own buffer cost more. The
/// buffers of this stack and of TCP are used in turn, so their cost does not depend on the message.
double far_copies(const Record& run, const Machine& machine) {
  const auto found = machine.passes.find(run.crc);
  if (found == machine.passes.end()) return 0;
  const auto direct = [](std::uint64_t octets, std::uint64_t copied) {
    return static_cast<double>(octets - std::min(octets, copied));
  };
  const auto& tx = run.tx.counters;
  const auto& rx = run.rx.counters;
  const bool iwarp = run.mode == "iwarp";
  auto octets = direct(tx.octets_sent, tx.octets_copied);
  if (iwarp) octets += direct(rx.octets_received, rx.octets_copied);
  // Before a processor returns to the buffer, it touches as much of TCP's buffers, and the buffer
  // of the other end if it serves both.
  auto touched = 2 * run.size;
  if (run.cpus == "same") touched += iwarp ? run.size : std::min(run.read, run.size);
  return octets * between_sets(static_cast<double>(touched)) *
         std::max(0.0, found->second[1].copy - found->second[0].copy);
}

/// Returns the costs of the passes of a run, between those of the two working sets.
Parameters with_passes(Parameters p, const Record& run, const Machine& machine) {
  const auto found = machine.passes.find(run.crc);
  if (found == machine.passes.end()) return p;
  const auto& [small, large] = found->second;
  const auto share = between_sets(working_set(run));
  p.copy_llc = std::lerp(small.copy, large.copy, share);
  p.crc = std::lerp(small.crc, large.crc, share);
  p.copy_crc = std::lerp(small.copy_crc, large.copy_crc, share);
  return p;
}

Ledger predicted(const Record& run, const Parameters& host, const Machine& machine) {
  const auto p = with_passes(host, run, machine);
  auto out = account(p, run.tx);
  out += account(p, run.rx);
  out[Component::kCopy] += run.far_ns;
  return out;
}

}  // namespace

std::expected<Judgement, std::string> judge(const std::vector<Record>& runs,
                                            const Machine& machine) {
  auto kinds = medians(runs);
  for (auto& run : kinds) run.far_ns = far_copies(run, machine);
  std::vector<Record> sockets;
  std::ranges::copy_if(kinds, std::back_inserter(sockets),
                       [](const Record& r) { return r.mode == "sockets"; });
  if (sockets.size() < 2 || sockets.size() == kinds.size()) {
    return std::unexpected(
        "the runs must include mode \"sockets\" with at least two sizes, and mode \"iwarp\"");
  }
  Judgement out;
  out.sockets = fit_sockets(sockets, machine.host);
  for (const auto& run : sockets) {
    out.fitted.push_back({run, predict(out.sockets, observation_of(run))});
  }
  out.left_out = leave_one_size_out(sockets, machine.host);
  const auto host = with_sockets(machine.host, out.sockets);
  const auto spread = spreads(runs);
  std::vector<double> errors;
  std::vector<double> all_spreads;
  for (const auto& run : kinds) {
    all_spreads.push_back(spread.at(kind_of(run)));
    if (run.mode != "iwarp") continue;
    out.points.push_back({run, all_spreads.back(), predicted(run, host, machine)});
    errors.push_back(std::abs(out.points.back().error()));
  }
  out.errors = summarise(errors);
  out.spread = median(all_spreads);
  out.copies = measured_shares(host, kinds);
  return out;
}

}  // namespace iwarp::offload_model
