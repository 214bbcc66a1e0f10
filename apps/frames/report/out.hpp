// SPDX-License-Identifier: Apache-2.0
// The type of the output function that the reports call.
#pragma once

#include <functional>
#include <string_view>

namespace iwarp::apps::frames {

/// Called with text that consists of whole lines.
using Out = std::function<void(std::string_view)>;

}  // namespace iwarp::apps::frames
