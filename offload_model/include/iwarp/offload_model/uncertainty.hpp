// SPDX-License-Identifier: Apache-2.0
// Monte Carlo over the uncertainties of a parameter set: the band around every prediction. The same
// seed gives the same band on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "iwarp/offload_model/parameters.hpp"

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

/// How a prediction moves when one parameter goes down and up by its uncertainty; largest first.
struct Sensitivity {
  std::string key;
  double low = 0;
  double high = 0;
};
std::vector<Sensitivity> sensitivity(const ParameterSet& set,
                                     const std::function<double(const Parameters&)>& predict);

}  // namespace iwarp::offload_model
