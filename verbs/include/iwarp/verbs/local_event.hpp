// SPDX-License-Identifier: Apache-2.0
// LocalEvent: what one end of a connection does that no octet shows: work posted and completed,
// memory used by the peer, states. Values only; what they mean stands where the types come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "iwarp/rdmap/ulp.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

enum class WorkQueue : std::uint8_t { kSend, kReceive };

/// A request was posted.
struct WorkPosted {
  WorkQueue queue = WorkQueue::kSend;
  std::uint64_t wr_id = 0;
  std::uint64_t length = 0;  ///< octets in its list of buffers
  bool early = false;        ///< before the connection was there; told when it is
  // kSend
  WrOpcode opcode = WrOpcode::kSend;
  SendFlags flags = SendFlags::kNone;
  RemoteAddress remote;  ///< of Writes, Reads and atomics
  bool operator==(const WorkPosted&) const = default;
};

/// So many posts were not told one by one: the queue had gone on before it was looked at.
struct PostsMissed {
  WorkQueue queue = WorkQueue::kSend;
  std::uint64_t count = 0;
  bool operator==(const PostsMissed&) const = default;
};

/// A completion, when it is made; its program may poll it later.
struct WorkCompleted {
  WorkQueue queue = WorkQueue::kSend;
  std::uint64_t wr_id = 0;
  WcStatus status = WcStatus::kSuccess;
  // kSuccess
  WcOpcode opcode = WcOpcode::kSend;
  std::uint64_t length = 0;         ///< WorkCompletion::byte_len
  std::optional<Stag> invalidated;  ///< by the Send that was received
  bool operator==(const WorkCompleted&) const = default;
};

enum class MemoryUse : std::uint8_t {
  kWrite,         ///< a segment of the peer's RDMA Write was placed
  kReceive,       ///< a Send was placed, as a whole
  kReadResponse,  ///< the answer to a Read of ours was placed, as a whole
  kReadSource,    ///< octets were taken to answer a Read of the peer
  kAtomic,        ///< an atomic operation of the peer was done
};

/// Registered memory of this end was used by the connection.
struct MemoryUsed {
  MemoryUse use = MemoryUse::kWrite;
  Stag stag;             ///< not kReceive
  std::uint64_t to = 0;  ///< not kReceive
  std::uint64_t length = 0;
  bool operator==(const MemoryUsed&) const = default;
};

/// The peer asked for memory that it may not have.
struct MemoryRefused {
  MemoryUse use = MemoryUse::kWrite;
  Stag stag;
  std::uint64_t to = 0;
  std::uint64_t length = 0;
  rdmap::AccessError why = rdmap::AccessError::kStagInvalid;
  bool operator==(const MemoryRefused&) const = default;
};

enum class Machine : std::uint8_t { kStartup, kStream, kQueuePair };

/// One of the state machines of this end is in another state; the first state of the RDMAP stream
/// follows none. The strings are those of to_string() of the states, and static.
struct StateUpdated {
  Machine machine = Machine::kStartup;
  std::string_view before;  ///< empty: there was none
  std::string_view now;
  bool operator==(const StateUpdated&) const = default;
};

using LocalEvent =
    std::variant<WorkPosted, PostsMissed, WorkCompleted, MemoryUsed, MemoryRefused, StateUpdated>;

/// Told of what happens at one end of one connection.
class LocalObserver {
 public:
  virtual ~LocalObserver() = default;
  /// From any thread, also several at a time, and with locks held: must not call back.
  virtual void see(const LocalEvent& event) = 0;
};

}  // namespace iwarp::verbs
