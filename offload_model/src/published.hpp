// SPDX-License-Identifier: Apache-2.0
// Internal: the function that computes each row of published figures.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::offload_model {

using Inputs = std::function<double(const char* name)>;
/// The numbers that the model computes for a row: at least one for each check, in the order of the
/// checks and in their units.
using RowResults = std::vector<double>;
/// Computes a row. `p` is the row's preset or a set drawn around the preset; rows without a preset
/// ignore `p`. `in` throws std::out_of_range for a name that the row lacks.
using RowFunction = RowResults (*)(const Parameters& p, const Inputs& in);

/// Returns the function with the name `compute`, or nullptr if there is none.
RowFunction row_function(std::string_view compute);

}  // namespace iwarp::offload_model
