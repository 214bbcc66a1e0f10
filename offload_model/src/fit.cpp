// SPDX-License-Identifier: Apache-2.0
// Solves non-negative least squares by coordinate descent: sets each cost in turn to its best
// value, but never below zero, until no cost changes. This works well because the problem is convex
// and has only a few unknowns.
#include "iwarp/offload_model/fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace iwarp::offload_model {

Sample sample_of(std::vector<double> results) {
  std::ranges::sort(results);
  const auto at = [&](std::size_t quarter) { return results[(results.size() - 1) * quarter / 4]; };
  return {at(2), at(2) > 0 ? (at(3) - at(1)) / at(2) : 0};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

ErrorSummary summarise(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::ranges::sort(errors);
  const auto count = static_cast<double>(errors.size());
  const auto at = static_cast<std::size_t>(std::ceil(0.9 * count)) - 1;
  return {std::accumulate(errors.begin(), errors.end(), 0.0) / count, errors[errors.size() / 2],
          errors[at], errors.back()};
}

double predict(std::span<const double> costs, const Observation& observation) {
  return std::inner_product(costs.begin(), costs.end(), observation.counts.begin(),
                            observation.known);
}

double relative_error(std::span<const double> costs, const Observation& observation) {
  return std::abs(predict(costs, observation) / observation.cost - 1);
}

namespace {

/// Normal equations of the least squares problem with relative errors: G = X'X and h = X'1, where
/// each row of X is divided by the measured cost.
struct Normal {
  std::vector<std::vector<double>> g;
  std::vector<double> h;
};

Normal normal_equations(std::span<const Observation> observations, std::size_t unknowns) {
  Normal out{std::vector(unknowns, std::vector(unknowns, 0.0)), std::vector(unknowns, 0.0)};
  for (const auto& o : observations) {
    for (std::size_t i = 0; i < unknowns; ++i) {
      const auto xi = o.weight * o.counts[i] / o.cost;
      out.h[i] += xi * (1 - o.known / o.cost);
      for (std::size_t j = 0; j < unknowns; ++j) out.g[i][j] += xi * o.counts[j] / o.cost;
    }
  }
  return out;
}

}  // namespace

std::vector<double> fit_costs(std::span<const Observation> observations) {
  constexpr int kRounds = 200'000;
  constexpr double kStill = 1e-12;
  if (observations.empty()) return {};
  const auto unknowns = observations.front().counts.size();
  const auto normal = normal_equations(observations, unknowns);
  std::vector<double> costs(unknowns, 0.0);
  for (int round = 0; round < kRounds; ++round) {
    double moved = 0;
    for (std::size_t i = 0; i < unknowns; ++i) {
      if (normal.g[i][i] == 0) continue;  // This cost was never incurred, so it stays zero.
      const auto gradient =
          normal.h[i] - std::inner_product(costs.begin(), costs.end(), normal.g[i].begin(), 0.0);
      const auto next = std::max(0.0, costs[i] + gradient / normal.g[i][i]);
      moved = std::max(moved, std::abs(next - costs[i]) * std::sqrt(normal.g[i][i]));
      costs[i] = next;
    }
    if (moved < kStill) break;
  }
  return costs;
}

}  // namespace iwarp::offload_model
