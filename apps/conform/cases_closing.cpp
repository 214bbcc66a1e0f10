// SPDX-License-Identifier: Apache-2.0
// The end of a connection (RFC 5044 section 7.2, RFC 5040 section 6.2).
#include "conform/case.hpp"
#include "conform/dance.hpp"
#include "conform/script.hpp"

namespace iwarp::apps::conform {

std::span<const Case> closing_cases() { return {}; }

}  // namespace iwarp::apps::conform
