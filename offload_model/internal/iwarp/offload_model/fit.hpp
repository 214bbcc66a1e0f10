// SPDX-License-Identifier: Apache-2.0
// Summarises measurements without assuming a distribution, and fits costs to them: finds the
// non-negative costs that have the least sum of squared relative errors.
#pragma once

#include <span>
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

/// The relative errors of predictions: the distance of each prediction from its measurement,
/// divided by the measurement. 0.1 is 10 %.
struct ErrorSummary {
  double mean = 0;    ///< mean absolute percentage error
  double median = 0;  ///< median of the absolute errors
  double p90 = 0;     ///< 90th percentile of the absolute errors
  double max = 0;     ///< largest absolute error
};
/// Summarises relative errors, which must not be negative. Returns zeros if there are no errors.
ErrorSummary summarise(std::vector<double> relative_errors);

/// One measurement: how often each cost was incurred, and the measured total cost.
struct Observation {
  /// Element i says how often cost i was incurred. All observations have the same number of costs.
  std::vector<double> counts;
  double cost = 0;    ///< the measured total, above 0
  double known = 0;   ///< part of the total that no cost of the fit explains
  double weight = 1;  ///< factor by which this observation's squared relative error counts
};

/// Returns the total that `costs` predict for an observation.
double predict(std::span<const double> costs, const Observation& observation);
/// Returns |predicted - measured| / measured.
double relative_error(std::span<const double> costs, const Observation& observation);

/// Returns the non-negative costs that minimise the sum of squared relative errors.
std::vector<double> fit_costs(std::span<const Observation> observations);

}  // namespace iwarp::offload_model
