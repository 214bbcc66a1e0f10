// SPDX-License-Identifier: Apache-2.0
// What goes wrong, and when: the plan of `iwarp run --fault FILE`, one rule a line. The grammar is
// in rfc-notes/faults.md. Knows no device, no clock and no file; a text is all it takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::rdma_core::fault {

/// What is counted.
enum class Event : std::uint8_t {
  kNow,
  kTime,           ///< since the first device was opened
  kCompletions,    ///< that the program polled
  kSends,          ///< requests of ibv_post_send() and ibv_wr_complete()
  kReceives,       ///< requests of ibv_post_recv() and ibv_post_srq_recv()
  kRegistrations,  ///< ibv_reg_mr() and its kin
  kCreations,      ///< of domains, queues, queue pairs, windows
  kOctets,         ///< that go to TCP
  kDatagrams,      ///< that queue pairs of type UD send
};

enum class When : std::uint8_t { kAfter, kEvery, kRange, kChance };

/// What happens then.
enum class Act : std::uint8_t {
  kStatus,    ///< the completion has this status, and its queue pair fails
  kFail,      ///< the call fails with this errno
  kError,     ///< the queue pair goes to error
  kRnr,       ///< the queue pair has no receives
  kReset,     ///< the network resets the connection
  kPortDown,  ///< nothing passes
  kPortUp,
  kTell,    ///< an asynchronous event of the port or device, and nothing else
  kRemove,  ///< of the device
  kLose,    ///< the datagram never arrives
  kDelay,   ///< it leaves later, behind others
};

/// Which queue pairs or connections: by the order in which they were made, from 1 on.
struct Subject {
  std::uint32_t number = 0;  ///< 0: any
  bool each = false;         ///< any, and counted apart
};

struct Rule {
  unsigned line = 0;  ///< of the file; 0: it came through the control socket
  std::string text;   ///< as it was written, blanks made one
  When when = When::kAfter;
  Event event = Event::kNow;
  std::uint64_t count = 0;  ///< events; kTime: nanoseconds; kChance: in a million
  std::uint64_t last = 0;   ///< kRange: from `count` to here
  Subject subject;
  Act act = Act::kError;
  int value = 0;  ///< a status, an errno or an event, as the C headers have it
  std::chrono::nanoseconds duration{0};  ///< kRnr, kPortDown, kDelay; 0: for ever
};

struct Plan {
  std::uint64_t seed = 1;
  std::vector<Rule> rules;
};

/// What is wrong, for people, and on which line, counted from 1.
struct PlanError {
  unsigned line = 0;
  std::string why;
};

inline constexpr std::size_t kMaxRules = 1024;
inline constexpr std::size_t kMaxPlan = 1 << 20;  ///< octets
inline constexpr std::size_t kMaxLine = 512;

std::expected<Plan, PlanError> parse_plan(std::string_view text);
/// One line without "seed"; nullopt: blank, or a comment.
std::expected<std::optional<Rule>, std::string> parse_rule(std::string_view line);
/// "WR_FLUSH_ERR"; empty: none that a plan can ask for.
std::string_view status_name(int status);

}  // namespace iwarp::rdma_core::fault
