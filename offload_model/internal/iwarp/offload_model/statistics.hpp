// SPDX-License-Identifier: Apache-2.0
// Median and spread of a few results of the same measurement, without assumptions about their
// distribution.
#pragma once

#include <vector>

namespace iwarp::offload_model {

/// Summary of the results.
struct Sample {
  double value = 0;   ///< the median
  double spread = 0;  ///< distance of the quartiles over the median; 0 if the median is not above 0
};

/// Summarises at least one result.
Sample sample_of(std::vector<double> results);
/// Returns the median of at least one value; of an even number, the upper of the two in the middle.
double median(std::vector<double> values);

}  // namespace iwarp::offload_model
