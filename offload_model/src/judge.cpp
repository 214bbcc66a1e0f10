// SPDX-License-Identifier: Apache-2.0
// Compares the model with recorded runs.
#include "iwarp/offload_model/judge.hpp"

#include <algorithm>
#include <cmath>

#include "iwarp/offload_model/statistics.hpp"

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

Ledger predicted(const Record& run, Parameters p, const Machine& machine) {
  const auto crc = machine.crc.find(run.crc);
  p.crc = crc == machine.crc.end() ? 0 : crc->second;
  auto out = account(p, run.tx);
  out += account(p, run.rx);
  return out;
}

double octets_of(const Record& r) {
  return static_cast<double>(r.tx.counters.octets_crced + r.rx.counters.octets_crced);
}

double copied(const Record& r) {
  return static_cast<double>(r.tx.counters.octets_copied + r.rx.counters.octets_copied);
}

/// Compares runs of large messages that differ only in whether CRCs are used, and returns the cost
/// that the CRC adds per octet. Without CRCs, large frames are placed directly. If two runs copy
/// different numbers of octets for this reason, they are not compared.
std::vector<MarginalCrc> marginal_crc(const std::vector<Record>& kinds, const Machine& machine) {
  constexpr std::uint64_t kLargeEnough = 16384;
  constexpr double kAlike = 0.1;
  std::vector<MarginalCrc> out;
  for (const auto& [kernel, bench] : machine.crc) {
    std::vector<double> costs;
    for (const auto& with : kinds) {
      if (with.mode != "iwarp" || with.crc != kernel || with.size < kLargeEnough) continue;
      const auto without = std::ranges::find_if(kinds, [&with](const Record& r) {
        return r.mode == "iwarp" && r.crc == "off" && r.size == with.size && r.fpdu == with.fpdu &&
               r.markers == with.markers && r.messages == with.messages;
      });
      if (without == kinds.end() || octets_of(with) == 0) continue;
      if (std::abs(copied(with) - copied(*without)) > kAlike * copied(with)) continue;
      costs.push_back((with.cpu_ns() - without->cpu_ns()) / octets_of(with));
    }
    if (costs.empty()) continue;
    out.push_back({kernel, median(costs), bench, static_cast<int>(costs.size())});
  }
  return out;
}

}  // namespace

std::expected<Judgement, std::string> judge(const std::vector<Record>& runs,
                                            const Machine& machine) {
  const auto kinds = medians(runs);
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
  out.crc = marginal_crc(kinds, machine);
  out.copies = measured_shares(host, kinds);
  return out;
}

}  // namespace iwarp::offload_model
