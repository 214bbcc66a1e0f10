// SPDX-License-Identifier: Apache-2.0
// The host on whose costs a bill or a prediction is based: a preset, or a host that `iwarp cost
// calibrate` has measured.
#pragma once

#include <string>

#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::apps::usage {

namespace model = offload_model;

inline constexpr double kNsPerUs = 1000;

/// Returns the measured host in `file`, or the preset (100g if `preset` is empty) if no file is
/// given. If the file lacks parameters, takes them from the preset and lists them on standard
/// error. Throws UsageError if the preset is unknown or the file is invalid.
model::ParameterSet load_host(const std::string& preset, const std::string& file);

/// Returns the content of a file. Throws UsageError if it cannot be read.
std::string read_text(const std::string& path);

/// Returns the host's title, for example "the processor of this host". Every output shows it.
inline std::string title_of(const model::ParameterSet& set) {
  return set.title.empty() ? set.name : set.title;
}

}  // namespace iwarp::apps::usage
