// SPDX-License-Identifier: Apache-2.0
// Monte Carlo over the uncertainties of a parameter set: the band around every prediction. The same
// seed gives the same band on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "iwarp/offload_model/parameters.hpp"
#include "iwarp/offload_model/performance.hpp"

namespace iwarp::offload_model {

struct Band {
  double low = 0;  ///< 5th percentile
  double median = 0;
  double high = 0;  ///< 95th percentile
};

inline constexpr std::uint64_t kDefaultSeed = 1;
inline constexpr std::size_t kDefaultSamples = 400;

/// Sets drawn independently around `set`: each value times exp(ln(1 + uncertainty) z), z normal.
std::vector<Parameters> draw(const ParameterSet& set, std::size_t samples = kDefaultSamples,
                             std::uint64_t seed = kDefaultSeed);

Band band(const std::vector<Parameters>& drawn,
          const std::function<double(const Parameters&)>& predict);

/// A crossover and the sizes between which the uncertainties do not let it be told.
struct UncertainCrossover {
  Crossover estimate;  ///< with the values as they are
  double low = 0;      ///< of the drawn sets, 5 % have it below; never above `estimate.first`
  double high = 0;     ///< 5 % have it above, infinity: or never; never below `estimate.octets`
};
UncertainCrossover crossover_band(const ParameterSet& set, const std::vector<Parameters>& drawn,
                                  const Better& better);

/// What a crossover says of a message of one size.
enum class Standing { kWorse, kUndecided, kBetter };
Standing standing(const UncertainCrossover& crossover, double size);

/// How a prediction moves when one parameter goes down and up by its uncertainty; largest first.
struct Sensitivity {
  std::string key;
  double low = 0;
  double high = 0;
};
std::vector<Sensitivity> sensitivity(const ParameterSet& set,
                                     const std::function<double(const Parameters&)>& predict);

}  // namespace iwarp::offload_model
