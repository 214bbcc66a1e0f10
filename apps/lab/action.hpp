// SPDX-License-Identifier: Apache-2.0
// The actions of a user of the lab. The "window" of an end is the memory region that its peer may
// access. Each action is written as a word, without characters that a URL has to escape. The
// settings and the list of actions describe a session completely: the same text always produces the
// same octets.
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
  kDeliver,  ///< delivers octets of the segment that is due; with 0 octets, a FIN or a reset
  kConnect,  ///< the initiator connects and sends its Request
  kTell,     ///< sends a Send that advertises this end's window: its STag, TO and length
  kSend,
  kInvalidate,  ///< sends a Send with Invalidate for the STag of the peer's window
  kWrite,
  kRead,
  kAdd,      ///< posts a FetchAdd of 1 to a word in the peer's window
  kReceive,  ///< posts another Receive
  kFlip,     ///< flips a bit of an octet that this end has sent and that is still in flight
  kClose,
  kCut,   ///< cuts the link: both ends lose the connection; octets in flight are lost
  kWait,  ///< advances the clock until the next timer expires
};

/// The part of the peer's memory to which an RDMA Write, RDMA Read or FetchAdd goes.
enum class Target : std::uint8_t {
  kWindow,
  kWrongStag,  ///< an STag that the peer has not registered
  kBounds,     ///< the window's STag; half of the octets are beyond the window's end
  kRights,     ///< the STag of memory to which the peer grants no access
};

struct Action {
  Verb verb = Verb::kDeliver;
  Side end = Side::kNear;
  Target target = Target::kWindow;
  std::array<std::uint32_t, 2> numbers{};

  bool operator==(const Action&) const = default;
};

/// Parses an action, for example "write.a.64.0.bounds" or "84"; "a" is the initiator, "b" the
/// responder. If this fails, returns an error text of one line.
std::expected<Action, std::string> parse_action(std::string_view word);
std::string to_word(const Action& action);
/// Describes an action in words, for example "initiator: Send of 24 octets".
std::string describe(const Action& action);

const char* name_of(Side side);

}  // namespace iwarp::apps::lab
