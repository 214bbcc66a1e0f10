// SPDX-License-Identifier: Apache-2.0
// describe(): builds the sentence from the cause, the refused memory or the message, what to do
// about it, and the work that was in flight.
#include "iwarp/verbs/stream_end.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "iwarp/mpa/faults.hpp"
#include "iwarp/rdmap/faults.hpp"
#include "iwarp/verbs/error_guide.hpp"

namespace iwarp::verbs {
namespace {

using Cause = StreamEnd::Cause;
using User = RefusedMemory::User;

std::string bytes_of(std::uint64_t length) {
  return fmt::format("{} byte{}", length, length == 1 ? "" : "s");
}

std::string_view name_of(WrOpcode opcode) {
  static constexpr std::array kNames{"Send",
                                     "Send with Invalidate",
                                     "RDMA Write",
                                     "RDMA Read",
                                     "RDMA Read",
                                     "Local Invalidate",
                                     "Fast-Register",
                                     "Bind Window",
                                     "FetchAdd",
                                     "CmpSwap",
                                     "Immediate Data",
                                     "RDMA Write with Immediate Data",
                                     "Send with Immediate Data"};
  static_assert(kNames.size() == static_cast<std::size_t>(WrOpcode::kSendImmediate) + 1);
  return kNames[static_cast<std::size_t>(opcode)];
}

std::string describe(const EndedWork& work) {
  const bool is_request = work.queue == WorkQueue::kSend;
  const bool names_memory = is_request && work.remote != RemoteAddress{};
  return fmt::format("{} wr_id {:#x} ({}{})", is_request ? name_of(work.opcode) : "receive",
                     work.wr_id, bytes_of(work.length),
                     names_memory ? fmt::format(", rkey {:#x}, address {:#x}",
                                                work.remote.rkey.value, work.remote.to)
                                  : "");
}

// Describes a message of the peer, or a message of this end whose request is no longer known.
std::string describe(const rdmap::Subject& subject) {
  using Kind = rdmap::Subject::Kind;
  const auto& segment = subject.segment;
  switch (subject.kind) {
    case Kind::kWrite:
      return segment
                 ? fmt::format("RDMA Write (segment of {}, rkey {:#x}, address {:#x})",
                               bytes_of(segment->length), segment->stag.value, segment->to.value)
                 : "RDMA Write";
    case Kind::kSend:
      return segment ? fmt::format("Send number {} (segment of {})", segment->msn.value,
                                   bytes_of(segment->length))
                     : "Send";
    case Kind::kImmediate:
      return "Immediate Data";
    case Kind::kRead:
      return "RDMA Read";
    case Kind::kAtomic:
      return "atomic operation";
    case Kind::kRequest:
      return "RDMA Read or atomic operation";
    case Kind::kUnknown:
      break;
  }
  return {};
}

// How a refused access is called, and the access right that it needs.
struct Use {
  std::string_view name;
  std::string_view right;
};

Use use_of(User user) {
  switch (user) {
    case User::kWrite:
      return {"RDMA Write", "IBV_ACCESS_REMOTE_WRITE"};
    case User::kRead:
      return {"RDMA Read", "IBV_ACCESS_REMOTE_READ"};
    case User::kAtomic:
      return {"atomic operation", "IBV_ACCESS_REMOTE_ATOMIC"};
    case User::kThisEnd:
      break;
  }
  return {"request", "IBV_ACCESS_LOCAL_WRITE"};
}

// Returns the fault that explains the refusal to an end of the connection.
bytes::Fault fault_of(rdmap::AccessError why) {
  static constexpr std::array kFaults{
      rdmap::kInvalidStag,     rdmap::kBounds, rdmap::kAccessRights,
      rdmap::kNotAssociated,   rdmap::kWrap,   rdmap::kStreamCatastrophic,
      rdmap::kUnexpectedOpcode};
  static_assert(kFaults.size() == static_cast<std::size_t>(rdmap::AccessError::kNotEnabled) + 1);
  return kFaults[static_cast<std::size_t>(why)];
}

// Returns what is wrong with the memory, and what to do about it.
std::string verdict(const RefusedMemory& memory) {
  const bool is_local = memory.user == User::kThisEnd;
  const auto right = use_of(memory.user).right;
  if (memory.why == rdmap::AccessError::kNoRight) {
    return fmt::format("the region does not have {0} (register it with {0})", right);
  }
  if (memory.why == rdmap::AccessError::kNotEnabled) {
    return fmt::format("the queue pair does not have {0} (set {0} in its qp_access_flags)", right);
  }
  if (is_local && memory.why == rdmap::AccessError::kStagInvalid) {
    return "no memory is registered under this lkey (use the lkey of a region that is still "
           "registered)";
  }
  if (is_local && memory.why == rdmap::AccessError::kOtherStream) {
    return "the region belongs to another protection domain (register it in the protection domain "
           "of the queue pair)";
  }
  const auto known = guidance(fault_of(memory.why));
  return fmt::format("{} ({})", known.meaning, known.advice);
}

std::string code_of(const rdmap::Terminate& terminate) {
  const auto& fault = terminate.fault;
  return fmt::format(" [Terminate {:x}/{:x}/{:02x}, vendor_err {:#x}]",
                     static_cast<unsigned>(fault.layer), fault.type, fault.code,
                     vendor_error(fault));
}

// Returns a text that lists the work of this end that was in flight.
std::string unfinished(const StreamEnd& end) {
  std::string waits;
  if (end.receive_missing) {
    const auto known = guidance(ddp::kUntaggedNoBuffer);
    waits =
        fmt::format(" while a message from the peer waited: {} ({})", known.meaning, known.advice);
  }
  if (end.outstanding == 0) return waits;
  const bool is_one = end.outstanding == 1;
  auto text = fmt::format(", with {} request{} outstanding at this end", end.outstanding,
                          is_one ? "" : "s");
  if (end.work) text += (is_one ? ": " : ", the oldest ") + describe(*end.work);
  if (!waits.empty()) text += ',';
  return text + waits;
}

std::string refused_here(const StreamEnd& end) {
  const auto& terminate = *end.terminate;
  if (const auto& memory = end.memory) {
    if (memory->user == User::kThisEnd && end.work) {
      return fmt::format(
          "{} cannot accept the peer's message: lkey {:#x} (address {:#x}, {}): {}{}",
          describe(*end.work), memory->stag.value, memory->to, bytes_of(memory->length),
          verdict(*memory), code_of(terminate));
    }
    return fmt::format("this end refused the peer's {} ({}, rkey {:#x}, address {:#x}): {}{}",
                       use_of(memory->user).name, bytes_of(memory->length), memory->stag.value,
                       memory->to, verdict(*memory), code_of(terminate));
  }
  const auto known = guidance(terminate.fault);
  const auto what = describe(rdmap::subject_of(terminate));
  auto text = what.empty() ? std::string("this end cannot process the peer's data")
                           : fmt::format("this end refused the peer's {}", what);
  text += fmt::format(": {}", known.meaning);
  if (end.work && end.work->queue == WorkQueue::kReceive) {
    text += fmt::format(", {}", describe(*end.work));
  }
  return text + fmt::format(" ({}){}", known.advice, code_of(terminate));
}

std::string refused_there(const StreamEnd& end) {
  const auto& terminate = *end.terminate;
  const auto known = guidance(terminate.fault);
  const auto what = end.work ? describe(*end.work) : describe(rdmap::subject_of(terminate));
  return fmt::format("{}: {} ({}){}",
                     what.empty() ? "the peer sent a Terminate" : "the peer refused " + what,
                     known.meaning, known.advice, code_of(terminate));
}

std::string failed_here(const StreamEnd& end) {
  if (end.completion_lost) {
    return "a completion queue of this end overflowed (create it with an entry for each request "
           "and receive that may be outstanding)" +
           unfinished(end);
  }
  if (!end.work) return "this end had a local error";
  if (end.memory && end.memory->user == User::kThisEnd) {
    return fmt::format("{} failed: lkey {:#x} (address {:#x}, {}): {}", describe(*end.work),
                       end.memory->stag.value, end.memory->to, bytes_of(end.memory->length),
                       verdict(*end.memory));
  }
  return fmt::format("{} failed: {}", describe(*end.work), to_string(end.work->status));
}

}  // namespace

bool is_orderly(const StreamEnd& end) {
  if (end.receive_missing) return false;
  switch (end.cause) {
    case Cause::kNone:
    case Cause::kClosed:
    case Cause::kAborted:
    case Cause::kCloseTimeout:
      return true;
    case Cause::kLost:
      return end.outstanding == 0;
    case Cause::kTerminateReceived:
      // The peer sends kTcpLost if this end closed TCP while the peer was still at work. So this
      // end closed the connection, and did not lose it.
      return end.terminate && end.terminate->fault == mpa::kTcpLost;
    default:
      return false;
  }
}

std::string describe(const StreamEnd& end) {
  const bool is_waiting = end.outstanding != 0 || end.receive_missing;
  switch (end.cause) {
    case Cause::kNone:
      return "the connection has not ended";
    case Cause::kClosed:
      return "both ends closed the connection" + unfinished(end);
    case Cause::kAborted:
      return "this end aborted the connection" + unfinished(end);
    case Cause::kLocalError:
      return failed_here(end);
    case Cause::kTerminateSent:
      if (end.terminate) return refused_here(end);
      return "this end refused the peer's data";
    case Cause::kTerminateReceived:
      if (end.terminate) return refused_there(end);
      return "the peer sent a Terminate";
    case Cause::kPeerClosed:
      return "the peer closed the connection" +
             (is_waiting ? unfinished(end) : " in the middle of a message");
    case Cause::kLost:
      return "the peer reset the connection, or the network failed" + unfinished(end);
    case Cause::kNoAnswer:
      return fmt::format("the peer did not acknowledge {} in time",
                         end.work ? describe(*end.work) : "a request");
    case Cause::kCloseTimeout:
      return "the peer did not close its half of the connection in time" + unfinished(end);
  }
  return {};
}

}  // namespace iwarp::verbs
