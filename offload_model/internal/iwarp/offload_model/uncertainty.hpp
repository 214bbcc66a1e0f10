// SPDX-License-Identifier: Apache-2.0
// Monte Carlo simulation over the uncertainties of a parameter set, which gives a band around every
// prediction. The same seed gives the same band on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "iwarp/offload_model/parameters.hpp"
#include "iwarp/offload_model/performance.hpp"

namespace iwarp::offload_model {

/// The distribution of a prediction.
struct Band {
  double low = 0;  ///< 5th percentile
  double median = 0;
  double high = 0;  ///< 95th percentile
};

inline constexpr std::uint64_t kDefaultSeed = 1;
inline constexpr std::size_t kDefaultSamples = 400;

/// Draws `samples` parameter sets around `set`: multiplies each value by exp(ln(1 + uncertainty) z)
/// with an independent, normally distributed z.
std::vector<Parameters> draw(const ParameterSet& set, std::size_t samples = kDefaultSamples,
                             std::uint64_t seed = kDefaultSeed);

/// Returns the distribution of a prediction over the drawn sets, or zeros if `drawn` is empty.
Band band(const std::vector<Parameters>& drawn,
          const std::function<double(const Parameters&)>& predict);

/// A crossover, and the range of sizes in which the crossover may lie, given the uncertainties.
struct UncertainCrossover {
  Crossover estimate;  ///< the crossover with the values of the set
  /// 5 % of the drawn sets have their crossover below this size. At most `estimate.first`.
  double low = 0;
  /// 5 % of the drawn sets have their crossover above this size; infinity if these 5 % have no
  /// crossover. At least `estimate.octets`.
  double high = 0;
};
/// Computes the crossover of `set` and of the sets drawn around it.
UncertainCrossover crossover_band(const ParameterSet& set, const std::vector<Parameters>& drawn,
                                  const Better& better);

/// Whether an alternative is better or worse at one size, or the uncertainties leave that
/// undecided.
enum class Standing { kWorse, kUndecided, kBetter };
/// Returns whether the alternative is better for messages of `size` octets, given its crossover.
Standing standing(const UncertainCrossover& crossover, double size);

/// Two predictions: one with a parameter lowered by its uncertainty, and one with the parameter
/// raised.
struct Sensitivity {
  std::string key;
  double low = 0;   ///< prediction with the parameter lowered
  double high = 0;  ///< prediction with the parameter raised
};
/// Returns the sensitivity of a prediction to each parameter with an uncertainty, largest first.
std::vector<Sensitivity> sensitivity(const ParameterSet& set,
                                     const std::function<double(const Parameters&)>& predict);

}  // namespace iwarp::offload_model
