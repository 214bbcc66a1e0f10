// SPDX-License-Identifier: Apache-2.0
// FPDUs: length, PAD and CRC (RFC 5044 section 4).
#include "conform/case.hpp"
#include "conform/dance.hpp"
#include "conform/script.hpp"

namespace iwarp::apps::conform {
namespace {

void wrong_crc(Script& s) {
  s.establish();
  const auto memory = learn_memory(s);
  s.fpdu(make_ulpdu(tagged(rdmap::Opcode::kWrite, memory.stag, memory.to), pattern(8)),
         {.crc_xor = 1});
  s.expect_terminate({mpa::kCrcMismatch});
}

// clang-format off
constexpr Case kCases[] = {
    {"mpa/crc/wrong-field", "RFC 5044 4.4", "MPA-46", "terminates on a wrong CRC field", Level::kMust, PeerRole::kEither, wrong_crc},
};
// clang-format on

}  // namespace

std::span<const Case> fpdu_cases() { return kCases; }

}  // namespace iwarp::apps::conform
