// SPDX-License-Identifier: Apache-2.0
// What a user of the lab does, as words: a session is its settings and the list of its actions, and
// the same text always gives the same octets. The words hold nothing that a URL has to escape.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "iwarp/trace/frame.hpp"

namespace iwarp::apps::lab {

using trace::other;
using trace::Side;

enum class Verb : std::uint8_t {
  kDeliver,  ///< so many octets of the segment that is due; 0: a FIN or a reset
  kConnect,  ///< the initiator sends its Request
  kTell,     ///< a Send with STag, TO and length of the own window
  kSend,
  kInvalidate,  ///< a Send with Invalidate of the peer's window
  kWrite,
  kRead,
  kAdd,      ///< FetchAdd of 1 to a word of the peer's window
  kReceive,  ///< posts one more Receive
  kFlip,     ///< octet and bit: of the stream that this end sends, in flight
  kClose,
  kCut,   ///< both ends lose the connection, and what is in flight is lost
  kWait,  ///< until the next timer runs out
};

/// Which memory of the peer a Write, Read or FetchAdd names.
enum class Target : std::uint8_t {
  kWindow,
  kWrongStag,  ///< an STag that the peer never gave out
  kBounds,     ///< the window's, but half of the octets are behind its end
  kRights,     ///< of memory that the peer opened to nobody
};

struct Action {
  Verb verb = Verb::kDeliver;
  Side end = Side::kNear;
  Target target = Target::kWindow;
  std::array<std::uint32_t, 2> numbers{};

  bool operator==(const Action&) const = default;
};

/// "write.a.64.0.bounds", "84": a is the initiator, b the responder. Error: one line.
std::expected<Action, std::string> parse_action(std::string_view word);
std::string to_word(const Action& action);
/// For people: "RDMA Write of 64 octets beyond the end of responder's window".
std::string describe(const Action& action);

const char* name_of(Side side);

}  // namespace iwarp::apps::lab
