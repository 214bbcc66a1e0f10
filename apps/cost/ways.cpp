// SPDX-License-Identifier: Apache-2.0
// Which ways there are, and where one begins to beat another.
#include "cost/ways.hpp"

#include "common/units.hpp"

namespace iwarp::apps::cost {

using model::Mode;

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

std::string crossover_text(const model::Crossover& crossover) {
  switch (crossover.kind) {
    case model::Crossover::Kind::kAlways:
      return "always";
    case model::Crossover::Kind::kNever:
      return "never";
    case model::Crossover::Kind::kFrom:
      break;
  }
  return "from " + format_octets(crossover.octets) + " on";
}

std::vector<NamedCrossover> all_crossovers(const Question& q) {
  constexpr double kOften = 1e12;  // transfers per advertisement: as good as never
  const auto p = q.set.resolve();
  const auto each = registered_each_time(q.workload);
  auto advertised = registered_once(q.workload);
  advertised.advertise = 1;
  auto once = advertised;
  once.advertise = kOften;
  std::vector<NamedCrossover> out;
  for (const auto over : {Mode::kSockets, Mode::kToe}) {
    const auto add = [&](const char* what, const model::Crossover& crossover) {
      out.push_back({over, what, crossover});
    };
    add("processor time, registered each time", cpu_crossover(p, each, over));
    add("processor time, registered once", cpu_crossover(p, once, over));
    add("processor time, as asked", cpu_crossover(p, q.workload, over));
    add("latency, registered once, STag known", latency_crossover(p, once, false, 0, over));
    add("latency, STag exchanged each time", latency_crossover(p, advertised, true, 0, over));
    add("latency, that and one registration in the path",
        latency_crossover(p, each, true, 1, over));
    add("latency, that and two registrations", latency_crossover(p, each, true, 2, over));
  }
  return out;
}

}  // namespace iwarp::apps::cost
