// SPDX-License-Identifier: Apache-2.0
// Enhanced connection set-up (RFC 6581).
#include "conform/case.hpp"
#include "conform/dance.hpp"
#include "conform/script.hpp"

namespace iwarp::apps::conform {

std::span<const Case> enhanced_cases() { return {}; }

}  // namespace iwarp::apps::conform
