// SPDX-License-Identifier: Apache-2.0
// Tagged buffers (RFC 5041 sections 4.2 and 5.3).
#include "conform/case.hpp"
#include "conform/dance.hpp"
#include "conform/script.hpp"

namespace iwarp::apps::conform {
namespace {

void unknown_stag(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  s.write(memory.stag ^ 0x5A5A5A00, memory.to, pattern(8));
  s.expect_terminate({ddp::kTaggedInvalidStag});
}

// clang-format off
constexpr Case kCases[] = {
    {"ddp/tagged/unknown-stag", "RFC 5041 7.2", "DDP-73", "terminates on a Write to an unknown STag", Level::kMust, PeerRole::kEither, unknown_stag},
};
// clang-format on

}  // namespace

std::span<const Case> tagged_cases() { return kCases; }

}  // namespace iwarp::apps::conform
