// SPDX-License-Identifier: Apache-2.0
// Finds medians and quartiles by sorting, which is fast enough for small samples.
#include "iwarp/offload_model/statistics.hpp"

#include <algorithm>

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

}  // namespace iwarp::offload_model
