// SPDX-License-Identifier: Apache-2.0
// The calls that a plan makes fail: those of the system that the driver uses, the memory allocator,
// and the beginning of a thread. Each is counted; one of one kind, or a few in a row, fails.
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

/// Instead of an errno: the call moves one octet only.
inline constexpr int kOneOctet = -1;

/// One way in which calls of a kind fail.
struct Way {
  int code = 0;
  /// The caller has to do without it: everything succeeds all the same.
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

/// From now on, in this process.
void begin(const Plan& plan);
/// Nothing fails any more.
void end();
/// Between begin() and end(), of a plan with a failure that is not harmless.
bool may_break();
/// Calls since begin().
std::array<unsigned long, kKinds> counts();
/// How many of them failed.
unsigned long failed();

}  // namespace failing
