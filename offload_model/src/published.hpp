// SPDX-License-Identifier: Apache-2.0
// Internal: the computation behind each published row.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::offload_model {

using Inputs = std::function<double(const char* name)>;
/// At least one number per check of the row, in its order and unit.
using RowResults = std::vector<double>;
/// `p` is the row's preset, or a set drawn around it; rows without a preset ignore it. `in` throws
/// std::out_of_range for a name that the row lacks.
using RowFunction = RowResults (*)(const Parameters& p, const Inputs& in);

/// Returns nullptr if no function has this name.
RowFunction row_function(std::string_view compute);

}  // namespace iwarp::offload_model
