// SPDX-License-Identifier: Apache-2.0
// A conformance case and its possible results. Each case is a row of a table; there is one file per
// group of RFC sections, and one table per file. A case has a function, which plays one end of one
// or more connections and throws if the peer under test deviates from the RFC.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace iwarp::apps::conform {

class Script;

/// The requirement level in the RFC. If the peer fails a MUST case, the exit status is 1.
enum class Level : std::uint8_t { kMust, kShould };

/// The role of the peer under test.
enum class PeerRole : std::uint8_t {
  kResponder,  ///< the peer listens: `iwarp conform HOST:PORT`
  kInitiator,  ///< the peer connects: `iwarp conform --serve PORT`
  kEither,
};

struct Case {
  std::string_view id;       ///< stable and unique id, for example "mpa/request/wrong-key"
  std::string_view section;  ///< the section that the case tests, for example "RFC 5044 7.1.1"
  /// Ids of the rows in rfc-notes/requirements that the case tests, separated by blanks.
  std::string_view requirements;
  std::string_view title;  ///< what a correct peer does, in one line
  Level level = Level::kMust;
  PeerRole role = PeerRole::kEither;
  void (*run)(Script&) = nullptr;
  /// Whether the case is known to crash peers. Such a case runs after all others.
  bool last = false;
};
inline constexpr bool kLast = true;

/// Thrown if the peer does not react as expected.
struct Failed {
  std::string expected;
  std::string observed;
};
/// Thrown if the case does not apply to this peer, for example because the peer does not offer an
/// optional feature.
struct Skipped {
  std::string why;
};

/// Returns all cases, in the order of the RFC sections.
std::span<const std::span<const Case>> all_cases();

// Tables of cases. The numbers are the RFC sections that the cases test.
std::span<const Case> request_cases();   ///< cases about Requests to a listening peer (5044 7.1)
std::span<const Case> reply_cases();     ///< cases about Replies to a connecting peer (5044 7.1)
std::span<const Case> startup_cases();   ///< cases about both Requests and Replies (5044 7.1)
std::span<const Case> enhanced_cases();  ///< cases about enhanced frames, flags (6581 6, 9.2, 10)
std::span<const Case> depth_cases();     ///< cases about IRD and ORD (6581 9.1)
std::span<const Case> rtr_cases();       ///< cases about Ready To Receive messages (6581 9.2)
std::span<const Case> fpdu_cases();      ///< cases about FPDU, PAD, TCP segments (5044 4, 5)
std::span<const Case> crc_cases();       ///< cases about the CRC of FPDUs (5044 4.4)
std::span<const Case> marker_cases();    ///< cases about markers (5044 4.3)
std::span<const Case> closing_cases();  ///< cases about FIN, reset, half-close (5044 7.2, 5040 6.2)
std::span<const Case> tagged_cases();   ///< cases about tagged segments and placement (5041 4, 5)
std::span<const Case> stag_cases();     ///< cases about STags and bounds (5041 7, 5042 6)
std::span<const Case> untagged_cases();   ///< cases about MSN, MO, QN, receive buffers (5041)
std::span<const Case> operation_cases();  ///< cases about Sends, Writes and their order (5040 5)
std::span<const Case> opcode_cases();     ///< cases about unexpected opcodes (5040 4.1, 7.2)
std::span<const Case> read_cases();       ///< cases about the tester's Read Requests (5040 5.2.1)
std::span<const Case> response_cases();  ///< cases about responses to the peer's Reads (5040 5.2.2)
std::span<const Case> terminate_cases();   ///< cases about the peer's Terminates (5040 4.8, 7.1)
std::span<const Case> terminated_cases();  ///< cases about the tester's Terminates (5040 4.8, 5.4)
std::span<const Case> extension_cases();   ///< cases about atomics (7306 5)
std::span<const Case> immediate_cases();   ///< cases about Immediate Data (7306 6)

}  // namespace iwarp::apps::conform
