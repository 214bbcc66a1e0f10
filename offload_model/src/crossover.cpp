// SPDX-License-Identifier: Apache-2.0
// Finds the message sizes above which one way of moving data is better than another.
#include <algorithm>
#include <cmath>
#include <vector>

#include "iwarp/offload_model/performance.hpp"

namespace iwarp::offload_model {

using enum Crossover::Kind;

namespace {

/// Returns sizes that are 5 % apart. These sizes are close enough to find a crossover, but miss
/// single steps of a cost.
std::vector<double> coarse_sizes() {
  constexpr double kRatio = 1.05;
  std::vector<double> out;
  for (double size = 1; size < kLargestMessage; size = std::ceil(size * kRatio))
    out.push_back(size);
  out.push_back(kLargestMessage);
  return out;
}

/// Returns `low` and `high` and, for each page that a message fills between them, its last octet
/// and the first octet of the next page. Only the number of pages to register rises in steps.
std::vector<double> fine_sizes(const Parameters& p, double low, double high) {
  std::vector<double> out{low, high};
  for (auto edge = std::floor(low / p.page) * p.page; edge < high; edge += p.page) {
    if (edge > low) out.push_back(edge);
    if (edge + 1 > low && edge + 1 < high) out.push_back(edge + 1);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

double change_between(double low, double high, const std::function<bool(double)>& holds) {
  const auto at_low = holds(low);
  while (high - low > 1) {
    const auto middle = std::floor((low + high) / 2);
    (holds(middle) == at_low ? low : high) = middle;
  }
  return high;
}

Crossover crossover_of(const Better& better, const Parameters& p) {
  constexpr double kNear = 65536;
  const auto holds = [&](double size) { return better(p, size); };
  const auto fails = [&](double size) { return !better(p, size); };
  const auto coarse = coarse_sizes();
  const auto last = std::find_if(coarse.rbegin(), coarse.rend(), fails);
  if (last == coarse.rbegin()) return {};
  const auto first = *std::ranges::find_if(coarse, holds);
  // Between two coarse sizes, a step of a cost may reverse the result. So examine the sizes on both
  // sides of each step. Stop at twice the first size at which the alternative is better, or at
  // twice the last size at which it is not better, whichever is larger.
  const auto beyond = 2 * std::max({first, last == coarse.rend() ? 0 : *last, kNear});
  const auto high =
      beyond < kLargestMessage ? *std::ranges::lower_bound(coarse, beyond) : kLargestMessage;
  const auto fine = fine_sizes(p, std::max(1.0, std::floor(first / 2)), high);
  const auto down = std::find_if(fine.rbegin(), fine.rend(), fails);
  if (down == fine.rend()) return {kAlways, 1, 1};
  const auto up = std::ranges::find_if(fine, holds);
  // FPDUs are padded, so the result may change back within a few octets.
  constexpr double kPadding = 4;
  auto from = change_between(*down, *std::prev(down), holds);
  for (auto n = from; n < from + kPadding; ++n) {
    if (fails(n)) from = n + 1;
  }
  return {kFrom, up == fine.begin() ? *up : change_between(*std::prev(up), *up, holds), from};
}

Better cheaper(Mode mode, Mode other, const Workload& w) {
  return [mode, other, at = w](const Parameters& p, double size) mutable {
    at.size = size;
    return message_cost(mode, p, at).total() < message_cost(other, p, at).total();
  };
}

Better sooner(Mode other, const Workload& w, bool advertise, double registrations) {
  return [other, advertise, registrations, at = w](const Parameters& p, double size) mutable {
    at.size = size;
    return latency_ns(Mode::kRnic, p, at, advertise, registrations) < latency_ns(other, p, at);
  };
}

std::optional<double> reuse_needed(const Parameters& p, const Workload& w) {
  auto cached = w;
  cached.hit_rate = 0;
  cached.reuse = INFINITY;
  const auto saved =
      message_cost(Mode::kSockets, p, w).total() - message_cost(Mode::kRnic, p, cached).total();
  if (saved <= 0) return std::nullopt;
  return 2 * registration_ns(p, w.size) / saved;
}

}  // namespace iwarp::offload_model
