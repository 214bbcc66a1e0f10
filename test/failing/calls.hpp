// SPDX-License-Identifier: Apache-2.0
// The calls that a plan makes fail: system calls of the driver, the memory allocator, and the start
// of a thread. Every call is counted. The plan makes one call of one kind fail, or several in a
// row.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace failing {

enum class Kind : std::uint8_t {
  kRecv,
  kRecvmsg,
  kSend,
  kSendmsg,
  kEpollAdd,
  kEpollWait,
  kEpollCreate,
  kEventfd,
  kTimerfd,
  kSocket,
  kAccept,
  kConnect,
  kBind,
  kListen,
  kSetOption,
  kGetOption,
  kLocalName,
  kPeerName,
  kShutdown,
  kPoll,
  kRead,
  kLookup,
  kThread,
  kMemory,
};
inline constexpr std::size_t kKinds = 24;

/// Means that the call transfers only one byte. Used in place of an errno.
inline constexpr int kOneOctet = -1;

/// One way in which calls of a kind may fail.
struct Way {
  int code = 0;
  /// Whether the stack must do without the call, so that everything succeeds nevertheless.
  bool is_harmless = false;
  unsigned in_a_row = 1;
};

std::string_view name_of(Kind kind);
std::span<const Way> ways_of(Kind kind);

struct Plan {
  Kind kind = Kind::kMemory;
  /// Ordinal of the first call that fails, from 1 on; 0 means that none fails.
  unsigned long nth = 0;
  Way way;
};

/// Applies the plan to this process.
void begin(const Plan& plan);
/// Stops making calls fail.
void end();
/// Returns true between begin() and end() of a plan with a harmful failure.
bool may_break();
/// Returns the number of calls of each kind since begin().
std::array<unsigned long, kKinds> counts();
/// Returns the number of calls that failed since begin().
unsigned long failed();

}  // namespace failing
