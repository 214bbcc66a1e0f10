// SPDX-License-Identifier: Apache-2.0
// Median and spread of a few results of the same measurement. Neither assumes a distribution of the
// results.
#pragma once

#include <vector>

namespace iwarp::offload_model {

/// Summary of the results of one measurement.
struct Sample {
  double value = 0;  ///< the median
  /// Distance between the quartiles, divided by the median; 0 if the median is not above 0.
  double spread = 0;
};

/// Summarises `results`, which must not be empty.
Sample sample_of(std::vector<double> results);
/// Returns the median of `values`, which must not be empty. If the number of values is even,
/// returns the upper of the two values in the middle.
double median(std::vector<double> values);

}  // namespace iwarp::offload_model
