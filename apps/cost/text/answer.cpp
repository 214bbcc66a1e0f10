// SPDX-License-Identifier: Apache-2.0
// Evaluates the model for each way to transfer a message, and finds where the choice flips.
#include "cost/text/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "common/base/units.hpp"
#include "iwarp/offload_model/adapter.hpp"

namespace iwarp::apps::cost {

namespace {

using model::Mode;
using model::Parameters;
using model::Workload;

constexpr double kBits = 8;  // bits of an octet

/// Formats a size in the same way as format_octets(), but with the given rounding function.
std::string rounded(double octets, double (*round)(double)) {
  constexpr double kDigits = 10;  // rounds to one decimal
  if (std::isinf(octets)) return "never";
  double unit = 1;
  while (octets / unit >= 1024) unit *= 1024;
  return format_octets(unit == 1 ? octets : round(octets / unit * kDigits) * unit / kDigits);
}

Workload unchanged(Workload w) { return w; }

Workload registered_each_time(Workload w) {
  w.hit_rate = 0;
  w.reuse = 1;
  w.on_demand = false;
  return w;
}

Workload registered_once(Workload w) {
  w.hit_rate = 1;
  w.on_demand = false;
  return w;
}

std::string workload_text(const Question& q) {
  const auto& w = q.workload;
  auto out = format_octets(w.size);
  if (q.messages.size() > 1)
    out += fmt::format(" (mean of {} kinds of messages)", q.messages.size());
  if (w.hit_rate < 1 && w.reuse > 1) {
    out += fmt::format(", buffer registered once per {:g} transfers", w.reuse);
  }
  out += w.advertise == 1 ? ", STag exchanged for each transfer"
         : w.advertise >= kOften
             ? ", STag known"
             : fmt::format(", STag exchanged once per {:g} transfers", w.advertise);
  if (w.on_demand) out += ", memory paged on demand";
  if (w.depth > 0) out += fmt::format(", {:.3g} in flight", w.qps * w.depth);
  if (w.qps > 1) out += fmt::format(" on {:.0f} connections", w.qps);
  if (w.regions > 1) out += fmt::format(", {:.0f} memory regions", w.regions);
  if (w.memory > 0) out += fmt::format(", {} registered", format_octets(w.memory));
  out += w.crc ? ", CRC on" : ", CRC off";
  if (w.markers) out += ", markers";
  return out;
}

using Change = Workload (*)(Workload);

/// Returns the processor time of a message of the question, on average.
model::Cost mean_cost(const Question& q, const Parameters& p, Mode mode, Change change) {
  model::Cost out;
  for (const auto& [workload, share] : q.messages) {
    auto cost = message_cost(mode, p, change(workload));
    cost.tx *= share;
    cost.rx *= share;
    out.tx += cost.tx;
    out.rx += cost.rx;
  }
  return out;
}

/// Returns the throughput of the messages one after the other, and what limits it most of the time.
model::Throughput mean_throughput(const Question& q, Mode mode, Change change) {
  const auto p = q.set.resolve();
  std::map<std::string_view, double> spent;  // in ns, by what limits it
  double ns = 0;
  for (const auto& [workload, share] : q.messages) {
    const auto w = change(workload);
    const auto one = throughput(mode, p, w, q.cores, q.application);
    const auto each = share * w.size / one.gbps;
    spent[one.limit] += each;
    ns += each;
  }
  const auto most = [](const auto& a, const auto& b) { return a.second < b.second; };
  return {q.workload.size / ns, std::ranges::max_element(spent, most)->first};
}

/// Returns the rate at the load of the question.
double load_gbps_of(const Question& q) {
  return q.load * mean_throughput(q, Mode::kSockets, unchanged).gbps;
}

constexpr std::array kUsualModes{Mode::kSockets, Mode::kSoftware, Mode::kToe};
constexpr std::array kOptionModes{Mode::kTls, Mode::kZeroCopySend, Mode::kZeroCopyReceive};
constexpr std::span kAllModes = std::span(model::kModes).first(model::kModes.size() - 1);

/// Returns the ways of `modes` and, if `rnic` is set, those with an RNIC.
std::vector<Way> ways_of(const Question& q, std::span<const Mode> modes, bool rnic = true) {
  const auto p = q.set.resolve();
  const auto offered = load_gbps_of(q);
  const auto drawn = model::draw(q.set);
  std::vector<Way> out;
  const auto add = [&](std::string name, Mode mode, Change change) {
    const auto cost = mean_cost(q, p, mode, change);
    const auto total = [&](const Parameters& at) { return mean_cost(q, at, mode, change).total(); };
    const auto w = change(q.workload);
    const auto crossover = crossover_band(q.set, drawn, cheaper(mode, Mode::kSockets, w));
    double latency = 0;
    for (const auto& [workload, share] : q.messages) {
      latency += share * delivery_ns(mode, p, change(workload));
    }
    const auto most = mean_throughput(q, mode, change);
    const auto loaded = loaded_at(mode, p, w, most, q.cores, offered);
    out.push_back({.name = std::move(name),
                   .mode = mode,
                   .workload = w,
                   .cost = cost,
                   .band = model::band(drawn, total),
                   .throughput = most,
                   .latency = latency,
                   .cores = cost.total() * q.rate / (kBits * q.workload.size),
                   .p99 = latency + loaded.wait_ns,
                   .loaded = loaded,
                   .crossover = crossover,
                   .standing = standing(crossover, w.size)});
  };
  for (const auto mode : modes) add(std::string(to_string(mode)), mode, unchanged);
  if (!rnic) return out;
  add(kEachTime, Mode::kRnic, registered_each_time);
  if (q.workload.on_demand) {
    add(kOnDemand, Mode::kRnic, unchanged);
  } else if (q.workload.hit_rate < 1 && q.workload.reuse > 1) {
    add(kAsAsked, Mode::kRnic, unchanged);
  }
  add(kOnce, Mode::kRnic, registered_once);
  return out;
}

std::vector<NamedCrossover> crossovers_of(const Question& q) {
  const auto drawn = model::draw(q.set);
  const auto each = registered_each_time(q.workload);
  auto advertised = registered_once(q.workload);
  advertised.advertise = 1;
  auto once = advertised;
  once.advertise = kOften;
  std::vector<NamedCrossover> out;
  for (const auto over : {Mode::kSockets, Mode::kToe}) {
    const auto add = [&](const char* what, const model::Better& better) {
      const auto crossover = crossover_band(q.set, drawn, better);
      out.push_back({over, what, crossover, crossover_text(crossover)});
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

/// A number of a question whose effect on the choice is examined. A new one needs only a row.
struct Dimension {
  std::string_view what;
  double largest;
  double Workload::* member = nullptr;  ///< null for the number of cores
  std::string_view cache = {};          ///< the cache of the card that the number fills

  std::string text(double n) const {
    return member == &Workload::memory ? format_octets(n) + " of registered memory"
                                       : fmt::format("{:.0f} {}", n, what);
  }
  /// Returns the throughput of sockets, or of an RNIC with registered buffers, for the number `n`.
  model::Throughput throughput(const Question& q, const Parameters& p, Mode mode, double n) const {
    auto w = mode == Mode::kRnic ? registered_once(q.workload) : q.workload;
    if (member != nullptr) w.*member = n;
    return model::throughput(mode, p, w, member == nullptr ? n : q.cores, q.application);
  }
};

constexpr double kLargestNumber = 1 << 20;
constexpr std::array kDimensions{
    Dimension{"cores", 64},
    Dimension{"messages in flight", 1024, &Workload::depth, "request cache"},
    Dimension{"queue pairs", kLargestNumber, &Workload::qps, "context cache"},
    Dimension{"memory regions", kLargestNumber, &Workload::regions, "region cache"},
    Dimension{"", 1ULL << 40, &Workload::memory, "translation cache"}};

std::vector<Flip> flips_of(const Question& q) {
  constexpr double kEqual = 1.05;  // throughputs that differ by less count as equal
  constexpr double kStep = 1.02;   // so that few of many numbers are examined
  const auto p = q.set.resolve();
  std::vector<Flip> out;
  for (const auto& dimension : kDimensions) {
    const auto rnic_is = [&](double n) {
      const auto sockets = dimension.throughput(q, p, Mode::kSockets, n).gbps;
      const auto rnic = dimension.throughput(q, p, Mode::kRnic, n).gbps;
      return rnic > kEqual * sockets ? 1 : sockets > kEqual * rnic ? -1 : 0;
    };
    auto last = rnic_is(1);
    for (double n = 1; n < dimension.largest;) {
      const auto low = n;
      n = std::max(n + 1, std::floor(n * kStep));
      if (rnic_is(n) == last) continue;
      n = model::change_between(low, n, [&](double at) { return rnic_is(at) == last; });
      last = rnic_is(n);
      out.push_back({dimension.text(n), last});
    }
  }
  return out;
}

std::vector<Cliff> cliffs_of(const Question& q) {
  constexpr double kNoticed = 0.9;
  const auto p = q.set.resolve();
  std::vector<Cliff> out;
  for (const auto& dimension : kDimensions) {
    const auto with = [&](double n) { return dimension.throughput(q, p, Mode::kRnic, n); };
    const auto n =
        model::cliff_of([&](double at) { return with(at).gbps; }, kNoticed, dimension.largest);
    // Another cache may limit the throughput whatever this number is.
    if (std::isfinite(n) && with(n).limit == dimension.cache)
      out.push_back({dimension.text(n), dimension.cache});
  }
  return out;
}

std::vector<std::string> decisive_of(const Question& q) {
  const auto all = model::sensitivity(q.set, [&q](const Parameters& p) {
    return message_cost(Mode::kSockets, p, q.workload).total() -
           message_cost(Mode::kRnic, p, q.workload).total();
  });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, all.size()); ++i) {
    out.push_back(fmt::format("{} ({}, {})", all[i].key, model::find_field(all[i].key)->meaning,
                              q.set.values.at(all[i].key).mark));
  }
  return out;
}

}  // namespace

const Way& Answer::way(std::string_view name) const {
  const auto found = std::ranges::find(ways, name, &Way::name);
  return found != ways.end() ? *found : *std::ranges::find(options, name, &Way::name);
}

Answer answer(const QuestionOptions& options) {
  const auto base = question_of(options);
  const auto q = changed_question(base, options);
  const bool all = options.ways == "all";
  const auto modes = all ? kAllModes : std::span<const Mode>(kUsualModes);
  auto one_core_more = q;
  ++one_core_more.cores;
  Answer out{.question = q,
             .workload = workload_text(q),
             .what_if = options.what_if,
             .ways = ways_of(q, modes),
             .options = all ? std::vector<Way>{} : ways_of(q, kOptionModes, false),
             .before = options.what_if.empty() ? std::vector<Way>{} : ways_of(base, modes),
             .load_gbps = load_gbps_of(q),
             .one_core_more = mean_throughput(one_core_more, Mode::kSockets, unchanged),
             .crossovers = crossovers_of(q),
             .reuses = reuse_needed(q.set.resolve(), q.workload),
             .flips = flips_of(q),
             .cliffs = cliffs_of(q),
             .decisive = decisive_of(q)};
  out.sentences = sentences_of(out, options.program);
  return out;
}

std::string crossover_text(const model::UncertainCrossover& crossover, const char* always,
                           const char* never) {
  using enum model::Crossover::Kind;
  const auto& estimate = crossover.estimate;
  auto out = estimate.kind == kAlways  ? always
             : estimate.kind == kNever ? never
                                       : "from " + rounded(estimate.octets, std::ceil) + " on";
  if (crossover.low == crossover.high) return out;
  return fmt::format("{} ({} to {})", out, rounded(crossover.low, std::floor),
                     rounded(crossover.high, std::ceil));
}

std::string us_text(double ns) {
  constexpr double kManyUs = 1000;
  const auto value = ns / kNsPerUs;
  return value < kManyUs ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

}  // namespace iwarp::apps::cost
