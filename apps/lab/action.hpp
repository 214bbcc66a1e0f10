// SPDX-License-Identifier: Apache-2.0
// The actions of a user of the lab, as words. A session is its settings and the list of its
// actions, and the same text always gives the same octets. The words contain nothing that a URL has
// to escape.
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
  kDeliver,  ///< a number of octets of the segment that is due; 0: a FIN or a reset
  kConnect,  ///< the initiator sends its Request
  kTell,     ///< a Send that advertises the own window: STag, TO and length
  kSend,
  kInvalidate,  ///< a Send with Invalidate, for the peer's window
  kWrite,
  kRead,
  kAdd,      ///< FetchAdd of 1 in the peer's window
  kReceive,  ///< posts one more Receive
  kFlip,     ///< flips a bit of an octet in flight that this end has sent
  kClose,
  kCut,   ///< both ends lose the connection, and all octets in flight
  kWait,  ///< until the next timer runs out
};

/// The memory of the peer that a Write, Read or FetchAdd names.
enum class Target : std::uint8_t {
  kWindow,
  kWrongStag,  ///< an STag that the peer never issued
  kBounds,     ///< the window's, but half of the octets are beyond its end
  kRights,     ///< of memory to which the peer grants no rights
};

struct Action {
  Verb verb = Verb::kDeliver;
  Side end = Side::kNear;
  Target target = Target::kWindow;
  std::array<std::uint32_t, 2> numbers{};

  bool operator==(const Action&) const = default;
};

/// Parses "write.a.64.0.bounds" or "84", for example; a is the initiator, b the responder. Fails
/// with one line.
std::expected<Action, std::string> parse_action(std::string_view word);
std::string to_word(const Action& action);
/// Describes an action: "RDMA Write of 64 octets beyond the end of responder's window".
std::string describe(const Action& action);

const char* name_of(Side side);

}  // namespace iwarp::apps::lab
