// SPDX-License-Identifier: Apache-2.0
// Terminate messages (RFC 5040 sections 4.8 and 7).
#include "conform/case.hpp"
#include "conform/dance.hpp"
#include "conform/script.hpp"

namespace iwarp::apps::conform {

std::span<const Case> terminate_cases() { return {}; }

}  // namespace iwarp::apps::conform
