// SPDX-License-Identifier: Apache-2.0
// Plan: says which faults `iwarp run --fault FILE` injects, and when. A plan has one rule per line;
// rfc-notes/faults.md has the grammar. The parser reads its input from a string, and uses no
// device, clock or file.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::rdma_core::fault {

/// The event that a rule counts.
enum class Event : std::uint8_t {
  kNow,
  kTime,           ///< the time since the first device was opened
  kCompletions,    ///< completions that the program polls
  kSends,          ///< requests posted by ibv_post_send() and ibv_wr_complete()
  kReceives,       ///< receives posted by ibv_post_recv() and ibv_post_srq_recv()
  kRegistrations,  ///< calls of ibv_reg_mr() and its variants
  kCreations,      ///< creations of protection domains, queues, queue pairs and windows
  kOctets,         ///< octets that were passed to TCP in send calls
  kDatagrams,      ///< datagrams sent by queue pairs of type UD
};

enum class When : std::uint8_t { kAfter, kEvery, kRange, kChance };

/// The fault to inject.
enum class Act : std::uint8_t {
  kStatus,    ///< the completion gets the status Rule::value, and its queue pair fails
  kFail,      ///< the call fails with the errno Rule::value
  kError,     ///< the queue pair goes to the error state
  kRnr,       ///< the queue pair has no posted receives for the time Rule::duration
  kReset,     ///< the network resets the connection
  kPortDown,  ///< no data passes in either direction
  kPortUp,
  kTell,    ///< raises an asynchronous event of the port or device, and does nothing else
  kRemove,  ///< removes the device
  kLose,    ///< the datagram never arrives
  kDelay,   ///< the datagram is sent later, possibly after datagrams that were posted later
};

/// The queue pairs or connections to which a rule applies. Queue pairs and connections are numbered
/// from 1, in the order in which they were made.
struct Subject {
  std::uint32_t number = 0;  ///< ordinal of the queue pair or connection, or 0 for any
  /// Whether the rule applies to all queue pairs or connections, and counts the events of each one
  /// separately.
  bool each = false;
};

struct Rule {
  unsigned line = 0;  ///< line number in the file, or 0 if the rule came over the fault socket
  /// The rule as written, but with each sequence of blanks replaced by one blank.
  std::string text;
  When when = When::kAfter;
  Event event = Event::kNow;
  /// The number of events, or for kTime the number of nanoseconds, after which the rule is due. For
  /// kChance, the chance in parts per million.
  std::uint64_t count = 0;
  std::uint64_t last = 0;  ///< for kRange, the last number of the range, which begins at `count`
  /// The name of the device to which the rule applies, or empty if it applies to all devices.
  std::string device;
  Subject subject;
  Act act = Act::kError;
  /// The argument of `act`: the number of a status, errno or event in the C headers.
  int value = 0;
  /// Duration of kRnr, kPortDown or kDelay; 0 means no limit.
  std::chrono::nanoseconds duration{0};
};

struct Plan {
  std::uint64_t seed = 1;
  std::vector<Rule> rules;
};

/// An error message, and the number of the line that contains the error, counted from 1.
struct PlanError {
  unsigned line = 0;
  std::string why;
};

inline constexpr std::size_t kMaxRules = 1024;
inline constexpr std::size_t kMaxPlan = 1 << 20;  ///< maximum size of a plan in octets
inline constexpr std::size_t kMaxLine = 512;

std::expected<Plan, PlanError> parse_plan(std::string_view text);
/// Parses one line of a plan, except a line with "seed", for which it returns an error. Returns
/// nullopt for a blank line or a comment.
std::expected<std::optional<Rule>, std::string> parse_rule(std::string_view line);

}  // namespace iwarp::rdma_core::fault
