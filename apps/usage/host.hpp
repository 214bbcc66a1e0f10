// SPDX-License-Identifier: Apache-2.0
// The host that a bill or a prediction is for: a preset, or one that iwarp cost calibrate measured.
#pragma once

#include <string>

#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::apps::usage {

namespace model = offload_model;

inline constexpr double kNsPerUs = 1000;

/// A preset (empty: 100g), or with `file` a measured host whose gaps are filled from the preset;
/// says on standard error what was filled. UsageError: no such preset, or a bad file.
model::ParameterSet load_host(const std::string& preset, const std::string& file);

/// "the processor of this host" in the head of every output.
std::string title_of(const model::ParameterSet& set);

}  // namespace iwarp::apps::usage
