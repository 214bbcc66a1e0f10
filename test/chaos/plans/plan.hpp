// SPDX-License-Identifier: Apache-2.0
// The plan that one seed determines, as data: the links with the connections that each has in turn,
// and the steps of the programs at both ends. Any step can be removed without changing the meaning
// of the other steps, so that a failing plan can be shrunk.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "iwarp/verbs/connection_options.hpp"

namespace iwarp::chaos {

enum class Act : std::uint8_t {
  kSend,
  kSendInvalidate,
  kSendImmediate,
  kImmediate,
  kWrite,
  kWriteImmediate,
  kRead,
  kReadInvalidate,
  kFetchAdd,
  kCmpSwap,
  kOpen,  ///< binds a window to a part of the program's target, or fast-registers that part
  kLocalInvalidate,  ///< invalidates the window or region that kOpen has opened
  kReceive,          ///< posts `size` receives
  kDeregister,       ///< deregisters memory that may be in use
  kConnect,
  kDisconnect,
  kTerminate,
  kAbort,
  kPass,  ///< lets the links run for `size` turns
};

/// A mistake that a program makes on purpose.
enum class Wrong : std::uint8_t { kNothing, kRemoteKey, kBounds, kLocalKey, kTooLong };

struct Step {
  Act act = Act::kPass;
  std::uint8_t link = 0;
  std::uint8_t side = 0;  ///< the end that takes the step; 0 is the initiator
  std::uint32_t size = 0;
  std::uint32_t place = 0;  ///< selects a location in memory
  std::uint64_t value = 0;  ///< operand, immediate data or seed of the payload
  bool is_signaled = true;
  bool is_solicited = false;
  bool is_fenced = false;
  bool is_inline = false;
  std::uint8_t pieces = 1;
  Wrong wrong = Wrong::kNothing;
};

/// A network fault in one direction. `at` counts the octets after the startup frame.
struct Wreck {
  enum class Kind : std::uint8_t { kNone, kReset, kFlip, kHalfClose };
  Kind kind = Kind::kNone;
  std::uint8_t from = 0;  ///< index of the sending side
  std::uint32_t at = 0;
  std::uint8_t bit = 0;
};

struct Stall {
  std::uint32_t at = UINT32_MAX;
  std::uint32_t turns = 0;
};

/// One connection of a link, from startup to its end.
struct Session {
  std::array<verbs::ConnectionOptions, 2> options;
  std::uint16_t ird = 16;  ///< IRD with which the responder accepts the connection
  std::uint16_t ord = 16;
  bool reject = false;
  std::uint32_t private_data = 0;  ///< number of octets of private data
  std::uint32_t max_segment = 1000;
  std::uint32_t max_delay = 0;  ///< maximum delay of a segment, as a number of turns
  std::array<Stall, 2> stalls;
  Wreck wreck;
  std::uint32_t time_limit = 0;  ///< timeout in milliseconds; 0 means that only TCP limits the time
};

struct LinkPlan {
  std::vector<Session> sessions;  ///< the connections that kConnect makes, in order
  std::uint32_t max_send_wr = 32;
  std::uint32_t max_recv_wr = 32;
  bool signal_all = false;
  std::array<bool, 2> shared_receives{};
};

struct Plan {
  std::uint64_t seed = 0;
  std::vector<LinkPlan> links;
  std::vector<Step> steps;
  std::uint32_t receive_size = 1024;
  bool polls_lazily = false;
  bool one_queue = false;  ///< whether each end uses one completion queue for sends and receives
};

Plan make_plan(std::uint64_t seed);

std::string describe(const Step& step);
/// Returns one line about the plan, and several lines about each connection that its links may use.
std::string describe(const Plan& plan);

}  // namespace iwarp::chaos
