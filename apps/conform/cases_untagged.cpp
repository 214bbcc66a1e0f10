// SPDX-License-Identifier: Apache-2.0
// Untagged buffers: QN, MSN, MO (RFC 5041).
#include "conform/case.hpp"
#include "conform/dance.hpp"
#include "conform/script.hpp"

namespace iwarp::apps::conform {

std::span<const Case> untagged_cases() { return {}; }

}  // namespace iwarp::apps::conform
