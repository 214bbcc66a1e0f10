// SPDX-License-Identifier: Apache-2.0
// Fitting costs to measurements: least squares on the relative error, with no cost below zero.
#pragma once

#include <span>
#include <vector>

namespace iwarp::offload_model {

/// Distance of predictions from measurements, relative to the measurements; 0.1 is 10 %.
struct ErrorSummary {
  double mean = 0;  ///< mean absolute percentage error
  double p90 = 0;   ///< 90th percentile
  double max = 0;
};
/// Summarises relative errors, none of them negative; all 0 if there are none.
ErrorSummary summarise(std::vector<double> relative_errors);

/// One measurement: how often each cost was incurred, and the total.
struct Observation {
  std::vector<double> counts;  ///< one per cost, in every observation
  double cost = 0;             ///< the total, above 0
  double group = 0;            ///< observations to leave out together: a message size, for example
  double weight = 1;           ///< of its squared relative error
};

/// Returns the total that `costs` predict for an observation.
double predict(std::span<const double> costs, const Observation& observation);
/// Returns |predicted - measured| / measured.
double relative_error(std::span<const double> costs, const Observation& observation);

/// Returns the costs, none negative, that minimise the sum of squared relative errors.
std::vector<double> fit_costs(std::span<const Observation> observations);

/// Predicts each group by costs fitted to the other groups, and returns the errors.
ErrorSummary leave_one_group_out(std::span<const Observation> observations);

}  // namespace iwarp::offload_model
