// SPDX-License-Identifier: Apache-2.0
// Lists the ways to transfer a message, and finds the sizes from which one way is cheaper than
// another.
#include "cost/text/ways.hpp"

#include <fmt/format.h>

#include <cmath>

#include "common/base/units.hpp"

namespace iwarp::apps::cost {

using model::Mode;

namespace {

/// Formats a size in the same way as format_octets(), but with the given rounding function.
std::string rounded(double octets, double (*round)(double)) {
  constexpr double kDigits = 10;  // rounds to one decimal
  if (std::isinf(octets)) return "never";
  double unit = 1;
  while (octets / unit >= 1024) unit *= 1024;
  return format_octets(unit == 1 ? octets : round(octets / unit * kDigits) * unit / kDigits);
}

std::string estimate_text(const model::Crossover& crossover) {
  switch (crossover.kind) {
    case model::Crossover::Kind::kAlways:
      return "always";
    case model::Crossover::Kind::kNever:
      return "never";
    case model::Crossover::Kind::kFrom:
      break;
  }
  return "from " + rounded(crossover.octets, std::ceil) + " on";
}

}  // namespace

model::Workload registered_each_time(model::Workload w) {
  w.hit_rate = 0;
  w.reuse = 1;
  return w;
}

model::Workload registered_once(model::Workload w) {
  w.hit_rate = 1;
  return w;
}

std::vector<Way> ways(const Question& q) {
  std::vector<Way> out;
  for (const auto mode : {Mode::kSockets, Mode::kSoftware, Mode::kToe}) {
    out.push_back({std::string(to_string(mode)), std::string(letter(mode)), mode, q.workload});
  }
  out.push_back({kEachTime, "d", Mode::kRnic, registered_each_time(q.workload)});
  if (q.workload.hit_rate < 1 && q.workload.reuse > 1) {
    out.push_back({kAsAsked, "d*", Mode::kRnic, q.workload});
  }
  out.push_back({kOnce, "d'", Mode::kRnic, registered_once(q.workload)});
  return out;
}

model::Throughput throughput_of(const Question& q, const model::Parameters& p, const Way& way) {
  return throughput(way.mode, p, way.workload, q.cores, q.application);
}

std::string crossover_text(const model::UncertainCrossover& crossover) {
  auto estimate = estimate_text(crossover.estimate);
  if (crossover.low == crossover.high) return estimate;
  return fmt::format("{} ({} to {})", estimate, rounded(crossover.low, std::floor),
                     rounded(crossover.high, std::ceil));
}

std::vector<NamedCrossover> all_crossovers(const Question& q) {
  constexpr double kOften = 1e12;  // transfers per advertisement; stands for infinity
  const auto drawn = model::draw(q.set);
  const auto each = registered_each_time(q.workload);
  auto advertised = registered_once(q.workload);
  advertised.advertise = 1;
  auto once = advertised;
  once.advertise = kOften;
  std::vector<NamedCrossover> out;
  for (const auto over : {Mode::kSockets, Mode::kToe}) {
    const auto add = [&](const char* what, const model::Better& better) {
      out.push_back({over, what, crossover_band(q.set, drawn, better)});
    };
    add("processor time, buffers registered each time", cheaper(Mode::kRnic, over, each));
    add("processor time, buffers registered once", cheaper(Mode::kRnic, over, once));
    add("processor time, this workload", cheaper(Mode::kRnic, over, q.workload));
    add("latency, buffers registered once, STag known", sooner(over, once, false, 0));
    add("latency, STag exchanged each time", sooner(over, advertised, true, 0));
    add("latency, STag exchanged, one buffer registered", sooner(over, each, true, 1));
    add("latency, STag exchanged, two buffers registered", sooner(over, each, true, 2));
  }
  return out;
}

}  // namespace iwarp::apps::cost
