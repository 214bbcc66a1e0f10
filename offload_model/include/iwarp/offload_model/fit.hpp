// SPDX-License-Identifier: Apache-2.0
// Fitting costs to measurements: least squares on the relative error, with no cost below zero.
#pragma once

#include <span>
#include <vector>

namespace iwarp::offload_model {

/// How far predictions are from measurements, relative to these; 0.1 is 10 %.
struct ErrorSummary {
  double mean = 0;  ///< MAPE
  double p90 = 0;
  double max = 0;
};
ErrorSummary summarise(std::vector<double> relative_errors);

/// One measurement: how often each cost was paid, and what it came to together.
struct Observation {
  std::vector<double> counts;  ///< as many in each observation
  double cost = 0;             ///< above 0
  double group = 0;            ///< left out together, a message size for example
  double weight = 1;           ///< of its squared relative error
};

double predict(std::span<const double> costs, const Observation& observation);
/// |predicted - measured| / measured
double relative_error(std::span<const double> costs, const Observation& observation);

/// The costs, none negative, that minimise the sum of squared relative errors.
std::vector<double> fit_costs(std::span<const Observation> observations);

/// The error for each group when fitted to the others.
ErrorSummary leave_one_group_out(std::span<const Observation> observations);

}  // namespace iwarp::offload_model
