// SPDX-License-Identifier: Apache-2.0
// Compares the model with recorded runs.
#include "iwarp/offload_model/judge.hpp"

#include <algorithm>
#include <cmath>

#include "iwarp/offload_model/fit.hpp"

namespace iwarp::offload_model {

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
  const auto sender = size + in_flight;
  const auto receiver = size + std::min(in_flight, kRing / 2);
  return in_flight + (run.cpus == "same" ? sender + receiver : std::max(sender, receiver));
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
