// SPDX-License-Identifier: Apache-2.0
// What a handful of results of the same measurement say together: their middle, and how far apart
// they are. Nothing is taken for granted about how they are distributed.
#pragma once

#include <vector>

namespace iwarp::offload_model {

struct Sample {
  double value = 0;   ///< the median
  double spread = 0;  ///< between the quartiles, over the median; 0 where that is not above 0
};

/// Of at least one result.
Sample sample_of(std::vector<double> results);
/// Of at least one value; of an even number, the upper of the two in the middle.
double median(std::vector<double> values);

}  // namespace iwarp::offload_model
