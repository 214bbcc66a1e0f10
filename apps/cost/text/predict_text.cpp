// SPDX-License-Identifier: Apache-2.0
// Formats a prediction for a terminal.
#include "cost/text/predict_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/base/units.hpp"
#include "iwarp/offload_model/uncertainty.hpp"

namespace iwarp::apps::cost {

namespace {

using model::Mode;

constexpr double kManyUs = 1000;

std::string us(double ns) {
  const auto value = ns / kNsPerUs;
  return value < kManyUs ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

std::string gbps_text(const model::Throughput& t) { return fmt::format("{:.3g}", t.gbps); }

std::string line(std::string_view name, const std::vector<Way>& all,
                 const std::function<std::string(const Way&)>& cell) {
  std::string out = fmt::format("  {:<21}", name);
  for (const auto& way : all) out += fmt::format("{:>13}", cell(way));
  return out + "\n";
}

/// Returns the two lines of the table's head. Each name is split at its first space: for example,
/// "kernel" is in the first line, and "sockets" is below it. A name without a space is in the
/// second line.
std::string head(std::string_view name, const std::vector<Way>& all) {
  const auto part = [](const Way& way, bool first) {
    const auto space = way.name.find(' ');
    if (space == std::string::npos) return first ? std::string() : way.name;
    return first ? way.name.substr(0, space) : way.name.substr(space + 1);
  };
  return line("", all, [&](const Way& way) { return part(way, true); }) +
         line(name, all, [&](const Way& way) { return part(way, false); });
}

std::string component_lines(const model::Parameters& p, const std::vector<Way>& all) {
  std::string out;
  for (const auto component : model::kComponents) {
    const auto ns = [&](const Way& way) {
      return message_cost(way.mode, p, way.workload).both()[component];
    };
    if (std::ranges::all_of(all, [&](const Way& way) { return ns(way) == 0; })) continue;
    out += line(to_string(component), all,
                [&](const Way& way) { return ns(way) == 0 ? std::string("-") : us(ns(way)); });
  }
  return out;
}

std::string cost_table(const Question& q, const std::vector<Way>& all) {
  const auto p = q.set.resolve();
  const auto drawn = model::draw(q.set);
  const auto cost = [&](const Way& way) { return message_cost(way.mode, p, way.workload); };
  auto out = head("us of processor time", all) + component_lines(p, all);
  out += line("both hosts", all, [&](const Way& way) { return us(cost(way).total()); });
  out += line("  90 % band", all, [&](const Way& way) {
    const auto b = model::band(drawn, [&way](const model::Parameters& at) {
      return message_cost(way.mode, at, way.workload).total();
    });
    return us(b.low) + ".." + us(b.high);
  });
  out += line("  sender", all, [&](const Way& way) { return us(cost(way).tx.total()); });
  out += line("  receiver", all, [&](const Way& way) { return us(cost(way).rx.total()); });
  out += line("busier host, GHz/Gb/s", all, [&](const Way& way) {
    const auto busier = std::max(cost(way).tx.total(), cost(way).rx.total());
    return fmt::format("{:.3g}", ghz_per_gbps(p, busier, q.workload.size));
  });
  out += line("share of copying", all,
              [&](const Way& way) { return fmt::format("{:.0f} %", 100 * copy_share(cost(way))); });
  return out;
}

double cores_of(const Question& q, const model::Parameters& p, const Way& way) {
  const auto load = load_at(way.mode, p, way.workload, q.rate);
  return load.tx + load.rx;
}

/// Returns the latency of `way`. The latency includes everything that delays the message: the
/// exchange of an STag, and the registrations at both ends.
double latency_of(const model::Parameters& p, const Way& way) {
  const auto registrations = way.workload.hit_rate < 1 ? 2 : 0;
  return latency_ns(way.mode, p, way.workload, true, registrations);
}

std::string performance_table(const Question& q, const std::vector<Way>& all) {
  const auto p = q.set.resolve();
  auto out = line(fmt::format("Gb/s with {:g} core{}", q.cores, q.cores == 1 ? "" : "s"), all,
                  [&](const Way& way) { return gbps_text(throughput_of(q, p, way)); });
  out += line("  bounded by", all, [&](const Way& way) {
    auto limit = std::string(throughput_of(q, p, way).limit);
    if (limit.starts_with("sender")) limit = "sender";
    if (limit.starts_with("receiver")) limit = "receiver";
    return limit;
  });
  out += line("one-way latency, us", all, [&](const Way& way) { return us(latency_of(p, way)); });
  out += line(fmt::format("cores at {:g} Gb/s", q.rate), all,
              [&](const Way& way) { return fmt::format("{:.3g}", cores_of(q, p, way)); });
  return out;
}

std::string crossover_table(const Question& q) {
  std::string out;
  auto over = Mode::kRnic;
  for (const auto& c : all_crossovers(q)) {
    if (c.over != over) {
      over = c.over;
      out += fmt::format("{}Message size from which an RNIC beats {} (90 % band)\n",
                         out.empty() ? "" : "\n", over == Mode::kToe ? "a TOE" : to_string(over));
    }
    out += fmt::format("  {:<48}{}\n", c.what, crossover_text(c.crossover));
  }
  const auto reuse = reuse_needed(q.set.resolve(), q.workload);
  return out + fmt::format("\n  {:<48}{}\n", "reuses needed to amortize a registration",
                           reuse ? fmt::format("{:.2g}", *reuse) : "never amortized");
}

std::string decisive(const Question& q) {
  const auto difference = [&q](const model::Parameters& p) {
    return message_cost(Mode::kSockets, p, q.workload).total() -
           message_cost(Mode::kRnic, p, q.workload).total();
  };
  const auto all = model::sensitivity(q.set, difference);
  std::string out = "parameters that decide between sockets and an RNIC:";
  for (std::size_t i = 0; i < std::min<std::size_t>(3, all.size()); ++i) {
    const auto& value = q.set.values.at(all[i].key);
    out += fmt::format("{} {} ({}, {})", i == 0 ? "" : ",", all[i].key,
                       model::find_field(all[i].key)->meaning, value.mark);
  }
  return out + "\n";
}

/// Describes how the throughput changes. If the table prints `before` and `after` identically, the
/// text says that they are equal.
std::string throughput_text(const model::Throughput& before, const model::Throughput& after) {
  if (gbps_text(before) == gbps_text(after)) {
    return fmt::format("throughput stays at {} Gb/s, bounded by the {}", gbps_text(after),
                       after.limit);
  }
  return fmt::format("{} Gb/s instead of {} ({:+.0f} %), bounded by the {}", gbps_text(after),
                     gbps_text(before), 100 * (after.gbps / before.gbps - 1), after.limit);
}

}  // namespace

std::string workload_text(const model::Workload& w) {
  auto out = format_octets(w.size);
  if (w.hit_rate < 1 && w.reuse > 1) {
    out += fmt::format(", buffer registered once per {:g} transfers", w.reuse);
  }
  out += w.advertise == 1 ? ", STag exchanged for each transfer"
                          : fmt::format(", STag exchanged once per {:g} transfers", w.advertise);
  out += w.crc ? ", CRC on" : ", CRC off";
  if (w.markers) out += ", markers";
  return out;
}

std::string verdict_text(const Question& q, const Way& way) {
  const auto p = q.set.resolve();
  const auto sockets = ways(q).front();
  const auto before = cores_of(q, p, sockets);
  const auto saved = before - cores_of(q, p, way);
  auto processors =
      saved > 0 ? fmt::format("saves {:.3g} of {:.3g} cores at {:g} Gb/s", saved, before, q.rate)
                : fmt::format("costs {:.3g} more cores at {:g} Gb/s", -saved, q.rate);
  const auto crossover =
      crossover_band(q.set, model::draw(q.set), cheaper(way.mode, Mode::kSockets, way.workload));
  if (standing(crossover, q.workload.size) == model::Standing::kUndecided) {
    processors += ", which is within the uncertainty";
  }
  return processors + "; " +
         throughput_text(throughput_of(q, p, sockets), throughput_of(q, p, way));
}

std::string prediction_text(const Question& q) {
  const auto all = ways(q);
  auto out = title_of(q.set) + "\n" + workload_text(q.workload) +
             "\nRNIC, each time: every transfer registers its buffers"
             "\nRNIC, once: registered buffers are cached\n\n";
  out += cost_table(q, all) + "\n" + performance_table(q, all) + "\n" + crossover_table(q);
  out += "\nCompared with kernel sockets\n";
  for (const auto& way : all) {
    if (way.mode != Mode::kToe && way.mode != Mode::kRnic) continue;
    out += fmt::format("  {:<17}{}\n", way.name, verdict_text(q, way));
  }
  return out + "  " + decisive(q);
}

}  // namespace iwarp::apps::cost
