// SPDX-License-Identifier: Apache-2.0
// RDMAP operations between peers that do nothing wrong (RFC 5040 section 5).
#include "conform/case.hpp"
#include "conform/dance.hpp"
#include "conform/script.hpp"

namespace iwarp::apps::conform {
namespace {

void send_read_write(Script& s) {
  s.establish();
  dance(s);
}

// clang-format off
constexpr Case kCases[] = {
    {"rdmap/operations/dance", "RFC 5040 5", "RDMAP-24 RDMAP-35 RDMAP-52", "a Send, a Read and a Write round", Level::kMust, PeerRole::kEither, send_read_write},
};
// clang-format on

}  // namespace

std::span<const Case> operation_cases() { return kCases; }

}  // namespace iwarp::apps::conform
