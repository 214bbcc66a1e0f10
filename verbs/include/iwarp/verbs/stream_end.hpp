// SPDX-License-Identifier: Apache-2.0
// StreamEnd: why the stream of a connection ended, as far as this end knows, and a sentence that
// describes it. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "iwarp/rdmap/terminate.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

/// A request or receive of this end that ended the stream or was outstanding when the stream ended.
struct EndedWork {
  WorkQueue queue = WorkQueue::kSend;
  std::uint64_t wr_id = 0;
  /// kSuccess if the work was outstanding when the stream ended, or had already completed
  WcStatus status = WcStatus::kSuccess;
  std::uint64_t length = 0;  ///< total size of the buffers in bytes
  // The next members are valid only if `queue` is kSend.
  WrOpcode opcode = WrOpcode::kSend;
  RemoteAddress remote{};  ///< remote memory of Writes, Reads and atomics
};

/// Memory of this end to which access was refused.
struct RefusedMemory {
  /// The request that named the memory.
  enum class User : std::uint8_t {
    kThisEnd,  ///< a request or receive of this end: `stag` is an lkey, `to` an address
    kWrite,    ///< an RDMA Write of the peer: `stag` is an rkey
    kRead,     ///< an RDMA Read of the peer: `stag` is an rkey
    kAtomic,   ///< an atomic of the peer: `stag` is an rkey
  };
  User user = User::kThisEnd;
  Stag stag{};
  std::uint64_t to = 0;
  /// size of the access in bytes; for the peer's Write, size of one segment
  std::uint64_t length = 0;
  rdmap::AccessError why = rdmap::AccessError::kStagInvalid;
};

/// Why a stream ended, as far as this end knows.
struct StreamEnd {
  /// The first event that made the end of the stream inevitable.
  enum class Cause : std::uint8_t {
    kNone,               ///< the stream has not ended
    kClosed,             ///< both ends closed the stream
    kAborted,            ///< the application at this end terminated or aborted the stream
    kLocalError,         ///< a request, receive or completion of this end failed; see `work`
    kTerminateSent,      ///< this end refused a message of the peer; see `terminate` and `memory`
    kTerminateReceived,  ///< the peer refused a message of this end; see `terminate` and `work`
    kPeerClosed,         ///< the peer closed TCP while work was outstanding; see `outstanding`
    kLost,               ///< TCP was reset or failed
    kNoAnswer,           ///< the peer did not acknowledge `work` in time
    kCloseTimeout,       ///< the peer did not close its half in time
  };
  Cause cause = Cause::kNone;
  std::optional<rdmap::Terminate> terminate{};
  /// the failed work; if none failed, the oldest outstanding request
  std::optional<EndedWork> work{};
  std::optional<RefusedMemory> memory{};
  std::uint64_t outstanding = 0;  ///< number of outstanding requests when the stream ended
  /// For kLocalError: whether a completion was lost because a completion queue was full.
  bool completion_lost = false;
  /// whether a message of the peer waited for a receive until the stream ended
  bool receive_missing = false;
};

/// Returns whether the stream ended as an application expects when it has done its work. Returns
/// false if a message waited for a receive. Otherwise returns true in these cases: the stream has
/// not ended, was closed (even if the peer did not close in time) or was aborted by this end; TCP
/// was lost while no request was outstanding; or the peer's Terminate only reports that this end
/// closed TCP first.
bool is_orderly(const StreamEnd& end);

/// Returns one sentence, lower case and without a full stop: what failed, why, and what to do about
/// it.
std::string describe(const StreamEnd& end);

}  // namespace iwarp::verbs
