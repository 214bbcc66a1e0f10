// SPDX-License-Identifier: Apache-2.0
// Formats an answer for a terminal. Computes nothing except units.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "command_line/help.hpp"
#include "cost/text/views.hpp"

namespace iwarp::apps::cost {

namespace {

using model::Mode;

constexpr std::size_t kColumns = 100;
constexpr std::size_t kIndent = 9;  // width of the longest label of a sentence, with a blank

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
  const auto second = [](const Way& way) { return way.name.find(' ') + 1; };  // 0 without a space
  const auto first = [&](const Way& way) {
    return way.name.substr(0, std::max<std::size_t>(second(way), 1) - 1);
  };
  return line("", all, first) +
         line(name, all, [&](const Way& way) { return way.name.substr(second(way)); });
}

std::string component_lines(const std::vector<Way>& all) {
  std::string out;
  for (const auto component : model::kComponents) {
    const auto ns = [&](const Way& way) { return way.cost.both()[component]; };
    if (std::ranges::all_of(all, [&](const Way& way) { return ns(way) == 0; })) continue;
    out += line(to_string(component), all,
                [&](const Way& way) { return ns(way) == 0 ? std::string("-") : us_text(ns(way)); });
  }
  return out;
}

std::string table(const Answer& a) {
  const auto& q = a.question;
  const auto p = q.set.resolve();
  std::string out;
  const auto add = [&](std::string_view name, const std::function<std::string(const Way&)>& cell) {
    out += line(name, a.ways, cell);
  };
  /// Adds a line and, with --what-if, a second one for the numbers without the change.
  const auto add_both = [&](std::string_view name,
                            const std::function<std::string(const Way&)>& cell) {
    add(name, cell);
    if (!a.before.empty()) out += line("  without the change", a.before, cell);
  };
  out += head("us of processor time", a.ways) + component_lines(a.ways);
  add_both("both hosts", [](const Way& way) { return us_text(way.cost.total()); });
  add("  90 % band",
      [](const Way& way) { return us_text(way.band.low) + ".." + us_text(way.band.high); });
  add("  sender", [](const Way& way) { return us_text(way.cost.tx.total()); });
  add("  receiver", [](const Way& way) { return us_text(way.cost.rx.total()); });
  add("busier host, GHz/Gb/s", [&](const Way& way) {
    const auto busier = std::max(way.cost.tx.total(), way.cost.rx.total());
    return fmt::format("{:.3g}", ghz_per_gbps(p, busier, q.workload.size));
  });
  add("share of copying",
      [](const Way& way) { return fmt::format("{:.0f} %", 100 * copy_share(way.cost)); });
  out += "\n";
  add_both(fmt::format("Gb/s with {:g} core{}", q.cores, q.cores == 1 ? "" : "s"),
           [](const Way& way) { return fmt::format("{:.3g}", way.throughput.gbps); });
  add("  bounded by", [](const Way& way) {
    const auto& limit = way.throughput.limit;
    if (limit.starts_with("number")) return std::string("in flight");
    return std::string(limit.substr(0, std::min(limit.find('\''), limit.find(" cache"))));
  });
  add_both("one-way latency, us", [](const Way& way) { return us_text(way.latency); });
  add_both(fmt::format("cores at {:g} Gb/s", q.rate),
           [](const Way& way) { return fmt::format("{:.3g}", way.cores); });
  out += fmt::format("\n  at {:.3g} Gb/s, {:g} % of what kernel sockets reach\n", a.load_gbps,
                     100 * q.load);
  add_both("p99 latency, us", [](const Way& way) {
    return std::isinf(way.p99) ? std::string("overloaded") : us_text(way.p99);
  });
  const auto add_share = [&](const char* name, double model::Loaded::* share) {
    add(name, [=](const Way& way) { return fmt::format("{:.0f} %", 100 * (way.loaded.*share)); });
  };
  add_share("limiting resource", &model::Loaded::busy);
  add_share("memory bandwidth", &model::Loaded::memory);
  add("cores with polling", [](const Way& way) { return fmt::format("{:.3g}", way.loaded.cores); });
  return out;
}

std::string crossover_table(const Answer& a) {
  std::string out;
  auto over = Mode::kRnic;
  for (const auto& c : a.crossovers) {
    if (c.over != over) {
      over = c.over;
      out += fmt::format("\nMessage size from which an RNIC beats {} (90 % band)\n",
                         over == Mode::kToe ? "a TOE" : to_string(over));
    }
    out += fmt::format("  {:<48}{}\n", c.what, c.text);
  }
  return out + fmt::format("\n  {:<48}{}\n", "reuses needed to amortize a registration",
                           a.reuses ? fmt::format("{:.2g}", *a.reuses) : "never amortized");
}

}  // namespace

std::string prediction_text(const Answer& a) {
  auto out = title_of(a.question.set) + "\n" + a.workload + "\n";
  if (!a.what_if.empty()) out += "what if " + a.what_if + "\n";
  out += "\n";
  for (const auto& [about, text] : a.sentences) {
    auto wrapped = cli::wrapped(text, kColumns, kIndent);
    out += wrapped.replace(0, about.size(), about);
    if (!out.ends_with('\n')) out += "\n";
  }
  return out + "\n" + table(a) + crossover_table(a) +
         fmt::format(
             "  parameters that most change the difference between sockets and an RNIC: {}\n",
             fmt::join(a.decisive, ", "));
}

}  // namespace iwarp::apps::cost
