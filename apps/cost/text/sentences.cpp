// SPDX-License-Identifier: Apache-2.0
// Says in four sentences what an Answer means. The sentences only format the numbers of the answer,
// so they cannot contradict the tables.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/units.hpp"
#include "cost/text/answer.hpp"

namespace iwarp::apps::cost {

namespace {

using model::Mode;

/// Returns "17.6 us" or "285 ms", with the digits of the table.
std::string time_text(double ns) {
  constexpr double kMany = 1e6;
  return ns < kMany ? us_text(ns) + " us" : us_text(ns / kNsPerUs) + " ms";
}

/// Returns what limits a way. If a cache of the card is too small, says for what.
std::string limit_of(const Way& way) {
  const auto& w = way.workload;
  std::string out(way.throughput.limit);
  if (out == "context cache") out += fmt::format(" for its {:.0f} queue pairs", w.qps);
  if (out == "region cache") out += fmt::format(" for its {:.0f} memory regions", w.regions);
  if (out == "translation cache") out += " for its " + format_octets(w.memory);
  if (out == "request cache") out += fmt::format(" for its {:.0f} requests", w.qps * w.depth);
  return out;
}

/// Returns "98.7 Gb/s (limited by the link) with 0.96 us": throughput, its limit and processor time
/// of a way. `unit` follows the time.
std::string result(const Way& way, std::string_view unit = "") {
  return fmt::format(
      "{:.3g} Gb/s (limited by the {}) with {}{}{}", way.throughput.gbps, limit_of(way),
      time_text(way.cost.total()), unit,
      way.standing == model::Standing::kUndecided ? " (no certain difference from sockets)" : "");
}

/// Returns the sizes above a crossover, as part of a sentence.
std::string sizes_text(const model::UncertainCrossover& crossover) {
  return crossover_text(crossover, "at every size", "at no size");
}

/// Returns the sizes from which an RNIC costs less than sockets, as part of a sentence.
std::string rnic_sizes(const Answer& a, std::string_view what) {
  const auto found = std::ranges::find_if(a.crossovers, [what](const NamedCrossover& c) {
    return c.over == Mode::kSockets && c.what == what;
  });
  return sizes_text(found->crossover);
}

std::string time_sentence(const Answer& a) {
  const auto& cost = a.ways.front().cost;
  const auto both = cost.both();
  auto order = model::kComponents;
  std::ranges::sort(order, std::ranges::greater{}, [&](auto c) { return both[c]; });
  const auto share = [&](auto c) {
    return fmt::format("the {} takes {:.0f} %", to_string(c), 100 * both[c] / both.total());
  };
  auto out = fmt::format(
      "Sending {} over kernel sockets costs both hosts together {} of processor time: {}, {}, "
      "and the receiver spends {} of it",
      format_octets(a.question.workload.size), time_text(both.total()), share(order[0]),
      share(order[1]), time_text(cost.rx.total()));
  if (a.question.application == 0) return out;
  return out + fmt::format("; the application spends another {} at each end",
                           time_text(a.question.application * a.question.workload.size));
}

std::string ceiling_sentence(const Answer& a) {
  const auto& t = a.ways.front().throughput;
  const auto cores = a.question.cores;
  auto out = fmt::format("Kernel sockets reach {:.3g} Gb/s with {:g} core{}, limited by the {}",
                         t.gbps, cores, cores == 1 ? "" : "s", t.limit);
  if (!a.before.empty()) {
    out += fmt::format(", and {:.3g} Gb/s without the change", a.before.front().throughput.gbps);
  }
  out += a.one_core_more.gbps <= t.gbps
             ? "; one more core does not help"
             : fmt::format("; one more core raises this rate to {:.3g} Gb/s, limited by the {}",
                           a.one_core_more.gbps, a.one_core_more.limit);
  if (const auto& rnic = a.way(kOnce); rnic.throughput.limit.ends_with("cache"))
    out += fmt::format("; an RNIC is limited by the {}", limit_of(rnic));
  return out;
}

std::string change_sentence(const Answer& a) {
  auto out = fmt::format(
      "An RNIC reaches {} if its buffers stay registered, and {} if each transfer registers them, ",
      result(a.way(kOnce), " of processor time per message"), result(a.way(kEachTime)));
  if (!a.reuses) {
    out += "and no number of transfers pays for a registration";
  } else if (*a.reuses < 1) {
    out += "so a registration pays even if it serves one transfer";
  } else {
    out += fmt::format("so a registration pays if it serves {:.0f} transfers or more",
                       std::floor(*a.reuses) + 1);
  }
  const auto option = [&a](Mode mode) {
    const auto& way = a.way(to_string(mode));
    const auto sizes = sizes_text(way.crossover);
    return std::array{time_text(way.cost.total()), sizes.substr(0, sizes.find(" ("))};
  };
  const auto [send, send_from] = option(Mode::kZeroCopySend);
  const auto [receive, receive_from] = option(Mode::kZeroCopyReceive);
  return out + fmt::format(
                   "; a TOE reaches {}. The processor time of a message is {} with zero-copy send "
                   "(cheaper than a copy: {}), {} with zero-copy receive (cheaper than a copy: "
                   "{}), and {} with "
                   "kernel TLS",
                   result(a.way(to_string(Mode::kToe))), send, send_from, receive, receive_from,
                   option(Mode::kTls)[0]);
}

/// Returns the largest share by which `way` improves throughput, processor time or latency of
/// sockets. The work of the application is included, because no card reduces it.
double gain(const Answer& a, const Way& way) {
  const auto& sockets = a.ways.front();
  const auto own = 2 * a.question.application * a.question.workload.size;
  const auto saved = [own](double before, double after) {
    return 1 - (after + own) / (before + own);
  };
  return std::max(
      {way.throughput.gbps / sockets.throughput.gbps - 1,
       way.standing == model::Standing::kBetter ? saved(sockets.cost.total(), way.cost.total()) : 0,
       saved(sockets.latency, way.latency)});
}

/// Returns "its 4 messages in flight" or, for example, "the link".
std::string bound_text(const Way& way) {
  if (!way.throughput.limit.ends_with("in flight")) return "the " + limit_of(way);
  const auto all = way.workload.qps * way.workload.depth;
  return fmt::format("its {:.3g} message{} in flight", all, all == 1 ? "" : "s");
}

std::string flip_sentence(const Answer& a) {
  constexpr double kWorthwhile = 0.05;
  double most = 0;
  for (const auto& way : a.ways) {
    if (way.mode == Mode::kToe || way.mode == Mode::kRnic) most = std::max(most, gain(a, way));
  }
  if (most < kWorthwhile) {
    return fmt::format(
        "Nothing is gained: a TOE or an RNIC improves throughput, processor time and latency by at "
        "most {:.1f} %{}",
        100 * most, a.question.application > 0 ? ", including the work of the application" : "");
  }
  auto out = fmt::format(
      "An RNIC costs less processor time than sockets {} if each transfer registers its buffers, "
      "and {} if they stay registered",
      rnic_sizes(a, "processor time, buffers registered each time"),
      rnic_sizes(a, "processor time, buffers registered once"));
  for (const auto& flip : a.flips) {
    out += fmt::format("; from {} on, {}", flip.count,
                       flip.rnic > 0   ? "an RNIC reaches a higher throughput than sockets"
                       : flip.rnic < 0 ? "an RNIC reaches a lower throughput than sockets"
                                       : "both reach the same throughput");
  }
  for (const auto& cliff : a.cliffs) {
    out += fmt::format("; from {} on, an RNIC loses a tenth of its throughput to misses in its {}",
                       cliff.count, cliff.cache);
  }
  return out;
}

/// Says how fast the program would run with each way, compared with software iWARP, over which it
/// has been recorded, and what bounds it.
std::string program_sentence(const Answer& a, const std::string& program) {
  const auto now = a.way(to_string(Mode::kSoftware)).throughput.gbps;
  const auto run = [&](std::string_view name, std::string_view where) {
    const auto& way = a.way(name);
    return fmt::format("{:.2g} times as fast {} (bound by {})", way.throughput.gbps / now, where,
                       bound_text(way));
  };
  return fmt::format("Compared with software iWARP, {} would run {}, {}, {} and {}{}", program,
                     run(kOnce, "on an RNIC whose buffers stay registered"),
                     run(kEachTime, "on an RNIC that registers them for each transfer"),
                     run(to_string(Mode::kSockets), "over kernel sockets"),
                     run(to_string(Mode::kToe), "with a TOE"),
                     a.question.application > 0 ? "" : ", if it does nothing but communicate");
}

}  // namespace

std::vector<Sentence> sentences_of(const Answer& a, const std::string& program) {
  std::vector<Sentence> out;
  if (!program.empty()) out.push_back({"program", program_sentence(a, program) + "."});
  out.push_back({"time", time_sentence(a) + "."});
  out.push_back({"ceiling", ceiling_sentence(a) + "."});
  out.push_back({"change", change_sentence(a) + "."});
  out.push_back({"flip", flip_sentence(a) + "."});
  return out;
}

}  // namespace iwarp::apps::cost
