// SPDX-License-Identifier: Apache-2.0
// MPA Replies: what a connecting peer does with them (RFC 5044 section 7.1).
#include "conform/case.hpp"
#include "conform/dance.hpp"
#include "conform/script.hpp"

namespace iwarp::apps::conform {

std::span<const Case> reply_cases() { return {}; }

}  // namespace iwarp::apps::conform
