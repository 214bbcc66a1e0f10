// SPDX-License-Identifier: Apache-2.0
// Plan: the faults that `iwarp run --fault FILE` injects, and when. A plan has one rule per line;
// rfc-notes/faults.md has the grammar. The code here only parses text and uses no device, clock or
// file.
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
  kTime,           ///< time after the first device was opened
  kCompletions,    ///< completions that the program polls
  kSends,          ///< requests posted by ibv_post_send() and ibv_wr_complete()
  kReceives,       ///< receives posted by ibv_post_recv() and ibv_post_srq_recv()
  kRegistrations,  ///< calls of ibv_reg_mr() and its variants
  kCreations,      ///< creations of domains, queues, queue pairs and windows
  kOctets,         ///< octets that were passed to TCP
  kDatagrams,      ///< datagrams sent by queue pairs of type UD
};

enum class When : std::uint8_t { kAfter, kEvery, kRange, kChance };

/// The fault to inject.
enum class Act : std::uint8_t {
  kStatus,    ///< the completion has this status, and its queue pair fails
  kFail,      ///< the call fails with this errno
  kError,     ///< the queue pair goes to Error
  kRnr,       ///< the queue pair has no receives for a while
  kReset,     ///< the network resets the connection
  kPortDown,  ///< nothing passes in either direction
  kPortUp,
  kTell,    ///< only raises an asynchronous event of the port or device
  kRemove,  ///< removes the device
  kLose,    ///< the datagram never arrives
  kDelay,   ///< the datagram is sent later, after others
};

/// The queue pairs or connections to which a rule applies. They are numbered in the order in which
/// they were made, from 1 on.
struct Subject {
  std::uint32_t number = 0;  ///< number of the queue pair or connection; 0: any
  bool each = false;         ///< applies to any, and counts each separately
};

struct Rule {
  unsigned line = 0;  ///< line number in the file; 0: the rule came through the control socket
  std::string text;   ///< the rule as written, with blanks collapsed
  When when = When::kAfter;
  Event event = Event::kNow;
  /// Number of events; nanoseconds for kTime; parts per million for kChance.
  std::uint64_t count = 0;
  std::uint64_t last = 0;  ///< end of a kRange that begins at `count`
  Subject subject;
  Act act = Act::kError;
  /// Number of the status, errno or event in the C headers.
  int value = 0;
  std::chrono::nanoseconds duration{0};  ///< duration of kRnr, kPortDown or kDelay; 0: forever
};

struct Plan {
  std::uint64_t seed = 1;
  std::vector<Rule> rules;
};

/// An error message, and the number of the line with the error, counted from 1.
struct PlanError {
  unsigned line = 0;
  std::string why;
};

inline constexpr std::size_t kMaxRules = 1024;
inline constexpr std::size_t kMaxPlan = 1 << 20;  ///< maximum size of a plan in octets
inline constexpr std::size_t kMaxLine = 512;

std::expected<Plan, PlanError> parse_plan(std::string_view text);
/// Parses one line; "seed" is not allowed. Returns nullopt for a blank line or a comment.
std::expected<std::optional<Rule>, std::string> parse_rule(std::string_view line);
/// Returns the name of the status, such as "WR_FLUSH_ERR", or an empty string if a plan cannot
/// contain that status.
std::string_view status_name(int status);

}  // namespace iwarp::rdma_core::fault
