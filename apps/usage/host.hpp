// SPDX-License-Identifier: Apache-2.0
// The host that a bill or a prediction is for: a preset, or one measured by iwarp cost calibrate.
#pragma once

#include <string>

#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::apps::usage {

namespace model = offload_model;

inline constexpr double kNsPerUs = 1000;

/// Returns a preset (100g if `preset` is empty) or, with `file`, a measured host whose missing
/// parameters come from the preset; lists those on standard error. Throws UsageError if the preset
/// is unknown or the file is bad.
model::ParameterSet load_host(const std::string& preset, const std::string& file);

/// Returns the title in the head of every output, such as "the processor of this host".
std::string title_of(const model::ParameterSet& set);

}  // namespace iwarp::apps::usage
