// SPDX-License-Identifier: Apache-2.0
// LocalEvent: an action of one end of a connection other than sending and receiving octets. The end
// posts or completes work, uses memory, or changes a state. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "iwarp/rdmap/terminate.hpp"
#include "iwarp/verbs/types.hpp"

namespace iwarp::verbs {

/// A request was posted.
struct WorkPosted {
  WorkQueue queue = WorkQueue::kSend;
  std::uint64_t wr_id = 0;
  std::uint64_t length = 0;  ///< total size of the request's buffers in bytes
  /// whether the request was posted before the connection existed, and is reported late
  bool early = false;
  // The next members are valid only if `queue` is kSend.
  WrOpcode opcode = WrOpcode::kSend;
  SendFlags flags = SendFlags::kNone;
  RemoteAddress remote{};  ///< remote memory of Writes, Reads and atomics
  bool operator==(const WorkPosted&) const = default;
};

/// Stands for `count` posts that could not be reported one by one, because their slots were reused
/// before the posts were reported.
struct PostsMissed {
  WorkQueue queue = WorkQueue::kSend;
  std::uint64_t count = 0;
  bool operator==(const PostsMissed&) const = default;
};

/// A request completed. The application may poll the completion later.
struct WorkCompleted {
  WorkQueue queue = WorkQueue::kSend;
  std::uint64_t wr_id = 0;
  WcStatus status = WcStatus::kSuccess;
  // The next members are valid only if `status` is kSuccess.
  WcOpcode opcode = WcOpcode::kSend;
  std::uint64_t length = 0;           ///< WorkCompletion::byte_len of the completion
  std::optional<Stag> invalidated{};  ///< STag that the received Send invalidated
  bool operator==(const WorkCompleted&) const = default;
};

/// How a connection uses registered memory of this end.
enum class MemoryUse : std::uint8_t {
  kWrite,         ///< a segment of the peer's RDMA Write was placed
  kReceive,       ///< a whole Send was placed
  kReadResponse,  ///< the whole response to a Read of this end was placed
  kReadSource,    ///< memory was read to answer a Read of the peer
  kAtomic,        ///< an atomic operation of the peer was executed
};

/// The connection has used registered memory of this end.
struct MemoryUsed {
  MemoryUse use = MemoryUse::kWrite;
  Stag stag{};               ///< STag of the memory; not for kReceive
  std::uint64_t to = 0;      ///< tagged offset in the memory; not for kReceive
  std::uint64_t length = 0;  ///< bytes
  bool operator==(const MemoryUsed&) const = default;
};

/// This end has refused the peer access to memory, for the reason `why`.
struct MemoryRefused {
  MemoryUse use = MemoryUse::kWrite;
  Stag stag{};
  std::uint64_t to = 0;
  std::uint64_t length = 0;
  rdmap::AccessError why = rdmap::AccessError::kStagInvalid;
  bool operator==(const MemoryRefused&) const = default;
};

/// The state machines of one end.
enum class Machine : std::uint8_t {
  kStartup,    ///< mpa::StartupState
  kStream,     ///< rdmap::StreamState
  kQueuePair,  ///< QpState
};

/// One of the state machines entered another state. The strings are static, from to_string() of the
/// states.
struct StateUpdated {
  Machine machine = Machine::kStartup;
  std::string_view before{};  ///< former state; empty before the first state of the RDMAP stream
  std::string_view now{};
  bool operator==(const StateUpdated&) const = default;
};

/// Any of the event types of this file.
using LocalEvent =
    std::variant<WorkPosted, PostsMissed, WorkCompleted, MemoryUsed, MemoryRefused, StateUpdated>;

/// Receives the events of one end of one connection.
class LocalObserver {
 public:
  virtual ~LocalObserver() = default;
  /// Reports an event. Any thread calls this function, possibly several threads at once and with
  /// locks held. So an implementation must be thread-safe and must not call back into the
  /// connection.
  virtual void see(const LocalEvent& event) = 0;
};

}  // namespace iwarp::verbs
