// SPDX-License-Identifier: Apache-2.0
// The output function of the reports.
#pragma once

#include <functional>
#include <string_view>

namespace iwarp::apps::frames {

/// Receives text that consists of whole lines.
using Out = std::function<void(std::string_view)>;

}  // namespace iwarp::apps::frames
