// SPDX-License-Identifier: Apache-2.0
// Where reports write.
#pragma once

#include <functional>
#include <string_view>

namespace iwarp::apps::frames {

/// Takes whole lines.
using Out = std::function<void(std::string_view)>;

}  // namespace iwarp::apps::frames
