// SPDX-License-Identifier: Apache-2.0
// Formats the results of `iwarp cost validate` for a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "common/base/units.hpp"
#include "cost/text/views.hpp"

namespace iwarp::apps::cost {

namespace {

using model::Unknown;
using model::Use;

constexpr double kUs = 1e3;

std::string octets_text(std::uint64_t octets) { return format_octets(static_cast<double>(octets)); }

std::string fitted_text(const model::Judgement& j) {
  const auto cost = [&j](Unknown u) { return j.sockets[static_cast<std::size_t>(u)]; };
  auto out = fmt::format(
      "Mode (a), kernel sockets, fitted costs: {:.2f} us per send, {:.2f} us per receive or wait, "
      "{:.2f} us per TSO or GRO piece, {:.3f} ns per octet, {:.1f} us per wake-up\n",
      cost(Unknown::kSend) / kUs, cost(Unknown::kReceive) / kUs, cost(Unknown::kPiece) / kUs,
      cost(Unknown::kOctet), cost(Unknown::kSwitch) / kUs);
  for (const auto& point : j.fitted) {
    const auto messages = static_cast<double>(point.run.messages);
    out += fmt::format(
        "  {:>10}, {:>6} octets per receive call: measured {:>8.2f} us, fitted {:>8.2f} us, "
        "{:+.0f} %\n",
        octets_text(point.run.size), point.run.read, point.run.cpu_ns() / messages / kUs,
        point.fitted / messages / kUs, 100 * (point.fitted / point.run.cpu_ns() - 1));
  }
  return out + fmt::format(
                   "  errors if each size is predicted by a fit to the other sizes: MAPE {:.1f} %, "
                   "p90 {:.1f} %, max {:.1f} %\n\n",
                   100 * j.left_out.mean, 100 * j.left_out.p90, 100 * j.left_out.max);
}

std::string points_text(const model::Judgement& j) {
  std::string out =
      "Mode (b), software iWARP, predicted from the fit of mode (a), micro-benchmarks and "
      "counters\n";
  out += fmt::format("{:>10}{:>8}  {:<15}{:<8}{:>11}{:>11}{:>8}{:>9}\n", "size", "ULPDU", "CRC",
                     "markers", "measured", "predicted", "error", "spread");
  for (const auto& point : j.points) {
    const auto& r = point.run;
    const auto messages = static_cast<double>(r.messages);
    out += fmt::format("{:>10}{:>8}  {:<15}{:<8}{:>8.2f} us{:>8.2f} us{:>6.0f} %{:>7.0f} %\n",
                       octets_text(r.size), r.fpdu, r.crc, r.markers ? "on" : "off",
                       r.cpu_ns() / messages / kUs, point.predicted.total() / messages / kUs,
                       100 * point.error(), 100 * point.spread);
  }
  return out + fmt::format(
                   "  MAPE {:.1f} % (at most {:.0f}), p90 {:.1f} % (at most {:.0f}), max {:.1f} % "
                   "(at most {:.0f}); identical runs differ by {:.1f} % (at most {:.0f})\n",
                   100 * j.errors.mean, 100 * j.bounds.mean, 100 * j.errors.p90, 100 * j.bounds.p90,
                   100 * j.errors.max, 100 * j.bounds.max, 100 * j.spread, 100 * j.bounds.spread);
}

/// Formats the share of processor time that copying took on this machine, and the published claim
/// about this share.
std::string copies_text(const model::Judgement& j) {
  std::string out = "\n  share of processor time that sockets spend copying on this machine:\n";
  double most = 0;
  for (const auto& c : j.copies) {
    if (c.size != 64 && c.size != 4096 && c.size != 65536 && c.size != 1048576) continue;
    out += fmt::format("    {:>8}: {:.1f} to {:.1f} %\n", format_octets(c.size), 100 * c.low,
                       100 * c.high);
    most = std::max(most, c.high);
  }
  constexpr double kClaim = 0.8;
  return out +
         "    (lower bound: a memcpy of the same octets in cache; upper bound: all costs per "
         "octet)\n" +
         fmt::format(
             "  The claim \"copying takes 80 to 85 % of the processor\" is {} on this machine.\n"
             "    No source for the claim was found. The nearest published figure covers all of "
             "TCP:\n"
             "    full-duplex Gigabit Ethernet takes more than 80 % of a 2.4 GHz Pentium 4\n"
             "    (Wikipedia, TCP offload engine).\n",
             most >= kClaim ? "plausible for at least one of these sizes"
                            : "wrong for all of these sizes");
}

std::string head_of(const model::PublishedRow& row) {
  return fmt::format("  {:>2}  {} [{}] ({})\n", row.number, row.figure, row.mark, row.source);
}

/// Formats the published figures with this `use`, each with the range in which the model's value
/// must be.
std::string tolerance_text(const std::vector<model::PublishedRow>& rows, Use use,
                           std::string_view title) {
  auto out = fmt::format("\nPublished figures, {}\n", title);
  for (const auto& row : rows) {
    if (row.use != use) continue;
    out += head_of(row);
    for (const auto& c : row.checks) {
      out += fmt::format("      {} {}: {:.3g} {} ({:g} to {:g})\n", row.holds(c) ? " " : "!",
                         c.what, c.model, c.unit, c.band.low, c.band.high);
    }
    if (!row.reason.empty()) out += fmt::format("      {}\n", row.reason);
  }
  return out;
}

std::string prediction_line(const model::PublishedRow& row, const model::Check& c) {
  const auto number = [&c](double value) { return fmt::format("{:.3g} {}", value, c.unit); };
  return fmt::format("  {:>2}  {:<29}{:<5}{:<5}{:>13}{:>13}{:>7}{:>15}  {}\n", row.number, c.what,
                     row.mark, row.preset, (c.at_most ? "< " : "") + number(c.published),
                     number(c.model), c.at_most ? "" : fmt::format("{:+.0f} %", 100 * c.miss()),
                     fmt::format("{:.3g}..{:.3g}", c.band.low, c.band.high), c.verdict());
}

std::string predictions_text(const std::vector<model::PublishedRow>& rows) {
  auto out = fmt::format(
      "\nPublished figures, predicted with a preset that does not depend on the figure.\n"
      "A prediction agrees if it is within {:.0f} % of the figure, and if the upper end of its\n"
      "90 % band is at most {:g} times the lower end.\n",
      100 * model::kCriterion.miss, model::kCriterion.band);
  out += fmt::format("  {:>2}  {:<29}{:<5}{:<5}{:>13}{:>13}{:>7}{:>15}\n", "", "", "mark", "by",
                     "published", "model", "miss", "band");
  std::string sources;
  for (const auto& row : rows) {
    if (row.use != Use::kPrediction) continue;
    for (const auto& c : row.checks) out += prediction_line(row, c);
    sources += head_of(row);
    if (!row.reason.empty()) sources += fmt::format("      {}\n", row.reason);
  }
  const auto tallies = tally(rows);
  const auto& held = tallies.held_out;
  out += fmt::format(
      "Figures found when the model was done, and compared once: {} of {} agree.\n"
      "The 90 % bands hold {} of {} published values.\n",
      held.hold, held.figures, tallies.inside, tallies[Use::kPrediction].figures);
  return out + "Sources, and how to read the figures\n" + sources;
}

}  // namespace

std::string judgement_text(const model::Judgement& j) {
  return fitted_text(j) + points_text(j) + copies_text(j);
}

std::string published_text(const std::vector<model::PublishedRow>& rows) {
  return tolerance_text(rows, Use::kIdentity, "identities: arithmetic that must hold") +
         tolerance_text(rows, Use::kCalibrated, "calibrated: a preset was fitted to them") +
         tolerance_text(rows, Use::kDerived, "derived: sums of published figures") +
         predictions_text(rows) +
         tolerance_text(rows, Use::kCliff,
                        fmt::format("cliffs: predicted within a factor of {:g}, or (!) not",
                                    model::kCriterion.cliff));
}

std::string tally_text(const std::vector<model::PublishedRow>& rows) {
  const auto all = tally(rows);
  const auto of = [](const model::Tally& t) { return fmt::format("{} of {}", t.hold, t.figures); };
  return fmt::format(
      "identities: {} hold; predictions: {} agree; cliffs: {} agree; limits: {} kept; not evidence "
      "for the model: {} "
      "calibrated and {} derived figures agree",
      of(all[Use::kIdentity]), of(all[Use::kPrediction]), of(all[Use::kCliff]), of(all.limits),
      of(all[Use::kCalibrated]), of(all[Use::kDerived]));
}

}  // namespace iwarp::apps::cost
