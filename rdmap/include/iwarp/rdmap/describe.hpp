// SPDX-License-Identifier: Apache-2.0
// Descriptions of RDMAP messages (RFC 5040 section 4) for traces and diagnostics.
#pragma once

#include <string>

#include "iwarp/bytes/view.hpp"

namespace iwarp::rdmap {

/// Describes the RDMAP message of a ULPDU, which begins with its DDP header, on one line. Also
/// works if the ULPDU is truncated.
std::string describe_message(bytes::View ulpdu);

}  // namespace iwarp::rdmap
