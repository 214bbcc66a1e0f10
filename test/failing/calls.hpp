// SPDX-License-Identifier: Apache-2.0
// The calls that a plan makes fail: system calls of the driver, memory allocation, and starting a
// thread. Every call is counted. A plan makes one call of one kind fail, or several successive
// calls.
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

/// A value used instead of an errno. It makes the call transfer only one byte.
inline constexpr int kOneOctet = -1;

/// One way in which calls of a kind may fail.
struct Way {
  int code = 0;
  /// Whether the scenario must succeed although the call fails, because the stack can do without
  /// the call.
  bool is_harmless = false;
  unsigned in_a_row = 1;
};

std::string_view name_of(Kind kind);
std::span<const Way> ways_of(Kind kind);

struct Plan {
  Kind kind = Kind::kMemory;
  /// Ordinal of the first call that fails, beginning with 1. 0 means that no call fails.
  unsigned long nth = 0;
  Way way;
};

/// Applies the plan to this process.
void begin(const Plan& plan);
/// Ends the plan: later calls do not fail. Returns whether they could have failed.
bool end();
/// If `active`, continues the plan that end() has ended.
void resume(bool active);
/// Returns true between begin() and end() if the plan has a harmful failure.
bool may_break();
/// Returns the number of calls of each kind since begin().
std::array<unsigned long, kKinds> counts();
/// Returns the number of calls that failed since begin().
unsigned long failed();

}  // namespace failing
