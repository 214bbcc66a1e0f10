// SPDX-License-Identifier: Apache-2.0
// Draws parameter sets and turns predictions into bands. The C++ standard specifies the random
// generator, and this file contains the transform to a normal distribution, so every machine draws
// the same sets.
#include "iwarp/offload_model/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace iwarp::offload_model {

namespace {

/// Returns a normally distributed number by the Box-Muller transform. The results of
/// std::normal_distribution differ between standard libraries.
double normal(std::mt19937_64& bits) {
  constexpr double kScale = 0x1p-53;
  const auto uniform = [&bits] { return (static_cast<double>(bits() >> 11) + 0.5) * kScale; };
  const auto radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double percentile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(share * last))];
}

Parameters moved(const ParameterSet& set, const std::string& key, double sigmas) {
  auto copy = set;
  auto& value = copy.values.find(key)->second;
  value.value *= std::pow(1 + value.uncertainty, sigmas);
  return copy.resolve();
}

/// Returns a size at which the alternative becomes better, found by bisection. If there are several
/// such sizes, returns any of them. Returns 1 if the alternative is better for 1 octet, and
/// infinity if it is not better for 1 GiB.
double a_crossover(const Better& better, const Parameters& p) {
  if (better(p, 1)) return 1;
  if (!better(p, kLargestMessage)) return INFINITY;
  return change_between(1, kLargestMessage, [&](double size) { return better(p, size); });
}

}  // namespace

std::vector<Parameters> draw(const ParameterSet& set, std::size_t samples, std::uint64_t seed) {
  std::vector<Parameters> out(samples, set.resolve());
  for (const auto& field : fields()) {
    const auto uncertainty = set.values.find(field.key)->second.uncertainty;
    if (uncertainty == 0) continue;
    // Each parameter has its own sequence, so that a new parameter does not change other bands.
    std::seed_seq own(field.key.begin(), field.key.end());
    std::mt19937_64 bits(own);
    bits.discard(seed);
    for (auto& one : out) one.*field.member *= std::exp(std::log1p(uncertainty) * normal(bits));
  }
  return out;
}

Band band(const std::vector<Parameters>& drawn,
          const std::function<double(const Parameters&)>& predict) {
  if (drawn.empty()) return {};
  std::vector<double> results;
  results.reserve(drawn.size());
  for (const auto& parameters : drawn) results.push_back(predict(parameters));
  std::ranges::sort(results);
  return {percentile(results, 0.05), percentile(results, 0.5), percentile(results, 0.95)};
}

UncertainCrossover crossover_band(const ParameterSet& set, const std::vector<Parameters>& drawn,
                                  const Better& better) {
  const auto estimate = crossover_of(better, set.resolve());
  const auto all = band(drawn, [&](const Parameters& p) { return a_crossover(better, p); });
  switch (estimate.kind) {
    case Crossover::Kind::kAlways:
      return {estimate, 1, std::max(1.0, all.high)};
    case Crossover::Kind::kNever:
      return {estimate, all.low, INFINITY};
    case Crossover::Kind::kFrom:
      break;
  }
  return {estimate, std::min(all.low, estimate.first), std::max(all.high, estimate.octets)};
}

Standing standing(const UncertainCrossover& crossover, double size) {
  if (size < crossover.low) return Standing::kWorse;
  return size < crossover.high ? Standing::kUndecided : Standing::kBetter;
}

std::vector<Sensitivity> sensitivity(const ParameterSet& set,
                                     const std::function<double(const Parameters&)>& predict) {
  std::vector<Sensitivity> out;
  for (const auto& [key, value] : set.values) {
    if (value.uncertainty == 0) continue;
    out.push_back({key, predict(moved(set, key, -1)), predict(moved(set, key, 1))});
  }
  std::ranges::sort(out, std::ranges::greater{},
                    [](const Sensitivity& s) { return std::abs(s.high - s.low); });
  return out;
}

}  // namespace iwarp::offload_model
