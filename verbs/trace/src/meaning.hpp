// SPDX-License-Identifier: Apache-2.0
// meaning(): describes a frame to a verbs programmer. The layers below the verbs describe their own
// fields.
#pragma once

#include <string>
#include <string_view>

#include "iwarp/trace/stream_decoder.hpp"

namespace iwarp::trace {

/// Returns one sentence about `frame`. `sender` and `receiver` are the names of the two ends.
std::string meaning(const Frame& frame, std::string_view sender, std::string_view receiver);

}  // namespace iwarp::trace
