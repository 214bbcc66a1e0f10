// SPDX-License-Identifier: Apache-2.0
// The calls that a plan makes fail: system calls of the driver, the memory allocator, and the start
// of a thread. Each call is counted; one of one kind, or a few in a row, fails.
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

/// Used instead of an errno: the call moves only one byte.
inline constexpr int kOneOctet = -1;

/// One way in which calls of a kind fail.
struct Way {
  int code = 0;
  /// The caller must do without it: everything succeeds nevertheless.
  bool is_harmless = false;
  unsigned in_a_row = 1;
};

std::string_view name_of(Kind kind);
std::span<const Way> ways_of(Kind kind);

struct Plan {
  Kind kind = Kind::kMemory;
  unsigned long nth = 0;  ///< counted from 1; 0: none fails
  Way way;
};

/// Applies the plan to this process.
void begin(const Plan& plan);
/// Stops making calls fail.
void end();
/// Returns whether it is called between begin() and end() of a plan with a harmful failure.
bool may_break();
/// Returns the number of calls of each kind since begin().
std::array<unsigned long, kKinds> counts();
/// Returns how many of them failed.
unsigned long failed();

}  // namespace failing
