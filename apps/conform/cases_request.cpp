// SPDX-License-Identifier: Apache-2.0
// MPA Requests: what a listening peer answers (RFC 5044 section 7.1).
#include "conform/case.hpp"
#include "conform/dance.hpp"
#include "conform/script.hpp"

namespace iwarp::apps::conform {
namespace {

void wrong_key(Script& s) {
  s.open();
  Octets frame(mpa::kStartupHeaderSize, std::byte{0x58});
  s.octets(frame);
  s.expect_refusal();
}

// clang-format off
constexpr Case kCases[] = {
    {"mpa/request/wrong-key", "RFC 5044 7.1.1", "MPA-66", "closes on a Request with a wrong key", Level::kMust, PeerRole::kResponder, wrong_key},
};
// clang-format on

}  // namespace

std::span<const Case> request_cases() { return kCases; }

}  // namespace iwarp::apps::conform
