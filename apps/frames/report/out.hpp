// SPDX-License-Identifier: Apache-2.0
// The output of reports.
#pragma once

#include <functional>
#include <string_view>

namespace iwarp::apps::frames {

/// Receives whole lines.
using Out = std::function<void(std::string_view)>;

}  // namespace iwarp::apps::frames
