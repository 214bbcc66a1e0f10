// SPDX-License-Identifier: Apache-2.0
// Formats a prediction for a terminal.
#include "cost/predict_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "common/units.hpp"

namespace iwarp::apps::cost {

namespace {

using model::Mode;

constexpr double kNsPerUs = 1000;
constexpr double kOften = 1e12;  // transfers per advertisement, or registration: as good as never

std::string us(double ns) { return fmt::format("{:.3g}", ns / kNsPerUs); }

std::string row(std::string_view name, const std::function<std::string(Mode)>& cell) {
  std::string out = fmt::format("  {:<22}", name);
  for (const auto mode : model::kModes) out += fmt::format("{:>16}", cell(mode));
  return out + "\n";
}

std::string component_rows(const model::Parameters& p, const model::Workload& w) {
  std::string out;
  for (const auto component : model::kComponents) {
    double all = 0;
    for (const auto mode : model::kModes) all += message_cost(mode, p, w).both()[component];
    if (all == 0) continue;
    out += row(to_string(component), [&](Mode mode) {
      const auto ns = message_cost(mode, p, w).both()[component];
      return ns == 0 ? std::string("-") : us(ns);
    });
  }
  return out;
}

std::string band_text(const std::vector<model::Parameters>& drawn, Mode mode,
                      const model::Workload& w) {
  const auto b = model::band(
      drawn, [&](const model::Parameters& p) { return message_cost(mode, p, w).total(); });
  return us(b.low) + ".." + us(b.high);
}

std::string cost_table(const Question& q) {
  const auto p = q.set.resolve();
  const auto drawn = model::draw(q.set);
  const auto& w = q.workload;
  const auto total = [&](Mode mode) { return message_cost(mode, p, w).total(); };
  std::string out =
      row("us of processor time", [](Mode mode) { return std::string(to_string(mode)); });
  out += component_rows(p, w);
  out += row("both hosts", [&](Mode mode) { return us(total(mode)); });
  out += row("  90 % band", [&](Mode mode) { return band_text(drawn, mode, w); });
  out += row("  sender", [&](Mode mode) { return us(message_cost(mode, p, w).tx.total()); });
  out += row("  receiver", [&](Mode mode) { return us(message_cost(mode, p, w).rx.total()); });
  out += row("GHz per Gb/s, busier", [&](Mode mode) {
    const auto cost = message_cost(mode, p, w);
    return fmt::format("{:.3g}",
                       ghz_per_gbps(p, std::max(cost.tx.total(), cost.rx.total()), w.size));
  });
  out += row("of that copying", [&](Mode mode) {
    return fmt::format("{:.0f} %", 100 * copy_share(message_cost(mode, p, w)));
  });
  return out;
}

std::string performance_table(const Question& q) {
  const auto p = q.set.resolve();
  const auto& w = q.workload;
  std::string out =
      row(fmt::format("Gb/s with {:g} core{}", q.cores, q.cores == 1 ? "" : "s"),
          [&](Mode mode) { return fmt::format("{:.3g}", throughput(mode, p, w, q.cores).gbps); });
  out += row("  bounded by", [&](Mode mode) {
    auto limit = std::string(throughput(mode, p, w, q.cores).limit);
    if (limit.starts_with("sender")) limit = "sender";
    if (limit.starts_with("receiver")) limit = "receiver";
    return limit;
  });
  out += row("one-way latency, us", [&](Mode mode) { return us(latency_ns(mode, p, w)); });
  out += row(fmt::format("cores at {:g} Gb/s", q.rate), [&](Mode mode) {
    const auto load = load_at(mode, p, w, q.rate);
    return fmt::format("{:.3g}", load.tx + load.rx);
  });
  return out;
}

std::string decisive(const Question& q) {
  const auto difference = [&q](const model::Parameters& p) {
    return message_cost(Mode::kSockets, p, q.workload).total() -
           message_cost(Mode::kRnic, p, q.workload).total();
  };
  const auto all = model::sensitivity(q.set, difference);
  std::string out = "what decides between sockets and RNIC:";
  for (std::size_t i = 0; i < std::min<std::size_t>(3, all.size()); ++i) {
    const auto& value = q.set.values.at(all[i].key);
    out += fmt::format("{} {} ({}, {})", i == 0 ? "" : ",", all[i].key,
                       model::find_field(all[i].key)->meaning, value.mark);
  }
  return out + "\n";
}

}  // namespace

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

std::string workload_text(const model::Workload& w) {
  auto out = format_octets(w.size);
  if (w.hit_rate == 1) {
    out += ", registration cached";
  } else if (w.reuse == 1) {
    out += ", registered for each transfer";
  } else {
    out += fmt::format(", registered once per {:g} transfers", w.reuse);
  }
  out += w.advertise == 1 ? ", an STag exchanged each time"
                          : fmt::format(", an STag exchanged per {:g} transfers", w.advertise);
  out += w.crc ? ", CRC on" : ", CRC off";
  if (w.markers) out += ", markers";
  return out;
}

std::vector<NamedCrossover> all_crossovers(const Question& q) {
  const auto p = q.set.resolve();
  auto each = q.workload;
  each.hit_rate = 0;
  each.reuse = 1;
  auto cached = q.workload;
  cached.hit_rate = 1;
  cached.advertise = kOften;
  const auto advertised = [&] {
    auto w = cached;
    w.advertise = 1;
    return w;
  }();
  return {
      {"processor time, registered for each transfer", cpu_crossover(p, each)},
      {"processor time, as asked", cpu_crossover(p, q.workload)},
      {"processor time, registration cached", cpu_crossover(p, cached)},
      {"latency, registration cached, STag known", latency_crossover(p, cached, false, 0)},
      {"latency, STag exchanged each time", latency_crossover(p, advertised, true, 0)},
      {"latency, that and one registration in the path", latency_crossover(p, each, true, 1)},
      {"latency, that and two registrations", latency_crossover(p, each, true, 2)},
  };
}

std::string verdict_text(const Question& q, Mode mode) {
  const auto p = q.set.resolve();
  const auto cores = [&](Mode m) {
    const auto load = load_at(m, p, q.workload, q.rate);
    return load.tx + load.rx;
  };
  const auto saved = cores(Mode::kSockets) - cores(mode);
  const auto laws = ratios(mode, p, q.workload, q.application);
  const auto processors =
      saved > 0 ? fmt::format("saves {:.3g} of {:.3g} cores at {:g} Gb/s", saved,
                              cores(Mode::kSockets), q.rate)
                : fmt::format("no benefit here because it costs {:.3g} cores more at {:g} Gb/s",
                              -saved, q.rate);
  return fmt::format("{}; {}", processors, verdict(laws));
}

std::string prediction_text(const Question& q) {
  auto out = title_of(q.set) + "\n" + workload_text(q.workload) + "\n\n";
  out += cost_table(q) + "\n" + performance_table(q) + "\n";
  out += "From which size on an RNIC is better than sockets\n";
  for (const auto& [what, crossover] : all_crossovers(q)) {
    out += fmt::format("  {:<48}{}\n", what, crossover_text(crossover));
  }
  const auto reuse = reuse_needed(q.set.resolve(), q.workload);
  out += fmt::format("  {:<48}{}\n", "reuses that pay for a registration at this size",
                     reuse ? fmt::format("{:.2g}", *reuse) : "none do");
  out += "\nVerdict\n";
  for (const auto mode : {Mode::kToe, Mode::kRnic}) {
    out += fmt::format("  {:<6}{}\n", to_string(mode), verdict_text(q, mode));
  }
  return out + "  " + decisive(q);
}

}  // namespace iwarp::apps::cost
