// SPDX-License-Identifier: Apache-2.0
// Inside the library: the computation behind each published row.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace iwarp::offload_model {

using Inputs = std::function<double(const char* name)>;
/// One number per check of the row, in its order and unit.
using RowResults = std::vector<double>;

/// Empty: there is no such row. `input` throws std::out_of_range for a name the row lacks.
RowResults compute_row(int number, const Inputs& input);

}  // namespace iwarp::offload_model
