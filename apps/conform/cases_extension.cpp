// SPDX-License-Identifier: Apache-2.0
// Atomics and immediate data (RFC 7306).
#include "conform/case.hpp"
#include "conform/dance.hpp"
#include "conform/script.hpp"

namespace iwarp::apps::conform {

std::span<const Case> extension_cases() { return {}; }

}  // namespace iwarp::apps::conform
