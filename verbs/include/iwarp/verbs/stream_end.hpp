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
  WcStatus status = WcStatus::kSuccess;  ///< kSuccess if it was outstanding or had succeeded before
  std::uint64_t length = 0;              ///< bytes in the list of buffers
  // kSend
  WrOpcode opcode = WrOpcode::kSend;
  RemoteAddress remote;  ///< remote memory of Writes, Reads and atomics
};

/// Memory of this end to which a request was refused access.
struct RefusedMemory {
  /// Which request named the memory.
  enum class User : std::uint8_t {
    kThisEnd,  ///< a request or receive of this end: `stag` is an lkey, `to` an address
    kWrite,    ///< the peer's RDMA Write: `stag` is an rkey
    kRead,     ///< the peer's RDMA Read
    kAtomic,   ///< the peer's atomic
  };
  User user = User::kThisEnd;
  Stag stag;
  std::uint64_t to = 0;
  std::uint64_t length = 0;  ///< bytes of the access; for the peer's Write, of one segment
  rdmap::AccessError why = rdmap::AccessError::kStagInvalid;
};

/// Why a stream ended, as far as this end knows.
struct StreamEnd {
  /// The first event that made the end inevitable.
  enum class Cause : std::uint8_t {
    kNone,               ///< the stream has not ended
    kClosed,             ///< both ends closed the stream
    kAborted,            ///< the application at this end terminated or aborted it
    kLocalError,         ///< a request, receive or completion of this end failed: `work`
    kTerminateSent,      ///< this end refused a message of the peer: `terminate`, `memory`
    kTerminateReceived,  ///< the peer refused a message of this end: `terminate`, `work`
    kPeerClosed,    ///< the peer closed TCP before all work was finished: `outstanding`, `work`
    kLost,          ///< TCP was reset or failed
    kNoAnswer,      ///< the peer did not acknowledge `work` in time
    kCloseTimeout,  ///< the peer did not close its half in time
  };
  Cause cause = Cause::kNone;
  std::optional<rdmap::Terminate> terminate;
  std::optional<EndedWork> work;  ///< the failed work, otherwise the oldest outstanding request
  std::optional<RefusedMemory> memory;
  std::uint64_t outstanding = 0;  ///< requests posted and not completed when the stream ended
  /// kLocalError: a completion was lost because a completion queue was full.
  bool completion_lost = false;
  bool receive_missing = false;  ///< a message of the peer waited for a receive until the end
};

/// Returns whether the stream ended as an application expects when it has done its work. Returns
/// false if a message waited for a receive. Otherwise returns true if the stream has not ended, was
/// closed (even if the peer did not close in time) or was aborted by this end; if TCP was lost
/// while no request was outstanding; and if the peer's Terminate only reports that this end closed
/// TCP first.
bool is_orderly(const StreamEnd& end);

/// Returns one sentence, lower case and without a full stop: what failed, why, and what to do about
/// it.
std::string describe(const StreamEnd& end);

}  // namespace iwarp::verbs
