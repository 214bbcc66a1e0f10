// SPDX-License-Identifier: Apache-2.0
// What a program is told: completions, the states of its queue pairs, asynchronous events.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::verbs {

using rdmap::Stag;

enum class WcStatus : std::uint8_t {
  kSuccess,
  kLocalLength,  ///< payload longer than the receive buffer, or above what the queue takes
  kLocalQpOperation,
  kLocalProtection,  ///< lkey, PD, bounds or rights of a local buffer
  kWrFlush,          ///< not executed: the queue pair left RTS
  kMwBind,           ///< a window could not be bound, or an STag not be invalidated locally
  kBadResponse,
  kLocalAccess,
  kRemoteInvalidRequest,
  kRemoteAccess,     ///< the peer terminated over an STag, bounds or rights
  kRemoteOperation,  ///< the peer terminated for another reason
  // Only where completions are acknowledged, see ConnectionOptions::completions.
  kRnrRetryExceeded,  ///< the peer had no receive for it in time
  kRetryExceeded,     ///< the peer was gone before it acknowledged this
  kFatal,
};
std::string_view to_string(WcStatus status);

enum class WcOpcode : std::uint8_t {
  kSend,
  kWrite,
  kRead,
  kLocalInvalidate,
  kFastRegister,
  kBindWindow,
  kRecv,
  kFetchAdd,
  kCmpSwap,
  /// A receive that an Immediate used up: `immediate` has the octets, its buffer is as it was.
  kRecvImmediate,
  /// A receive with the `byte_len` octets of a Send, and `immediate` (kSendImmediate).
  kRecvSendImmediate,
  /// A receive with the 40 octets of a GRH and the payload of a datagram from `source_qp`;
  /// `byte_len` counts both.
  kRecvDatagram,
  /// The same, and 4 octets of `immediate`.
  kRecvDatagramImmediate,
};
std::string_view to_string(WcOpcode opcode);

/// Work completion. With another status than kSuccess only wr_id, status and qp_num are valid.
struct WorkCompletion {
  std::uint64_t wr_id = 0;
  WcStatus status = WcStatus::kSuccess;
  WcOpcode opcode = WcOpcode::kSend;
  /// Octets put into the buffers of the request. kRecv, kRecvSendImmediate: of the Send; kRead:
  /// read; atomics: 8; kRecvImmediate: 0, also when a Write came with it.
  std::uint32_t byte_len = 0;
  std::uint32_t qp_num = 0;
  bool solicited = false;
  bool invalidated = false;  ///< kRecv: the Send has invalidated `invalidated_stag`
  Stag invalidated_stag;
  std::uint32_t source_qp = 0;  ///< datagrams
  bool over_ipv4 = false;       ///< datagrams: the GRH is an IPv4 header, else one of IPv6
  /// kRecvImmediate: octets that the peer's Writes right in front of it have put, in one piece.
  std::uint32_t written = 0;
  /// kRecvImmediate, kRecvSendImmediate, kRecvDatagramImmediate
  std::uint64_t immediate = 0;
};

/// RDMA verbs states. [VRB-5]
enum class QpState : std::uint8_t { kIdle, kRts, kTerminate, kClosing, kError };
std::string_view to_string(QpState state);

enum class AsyncEventType : std::uint8_t {
  kTerminateReceived,  ///< QP: `terminate` says why
  kTerminateSent,      ///< QP: `terminate` says why
  kLlpConnectionLost,  ///< QP: reset, or closed while work was under way
  kLlpCloseComplete,   ///< QP: an orderly close is complete [VRB-18]
  kBadClose,           ///< QP: closed while work was posted or data came [VRB-17]
  kCqOverflow,         ///< CQ: completions were lost; its QPs are in error
  kSrqLimit,           ///< SRQ: fewer requests than the limit are left
  kLastReceive,        ///< QP with an SRQ: it is in Error and will take no more receives from it
};
std::string_view to_string(AsyncEventType type);

struct AsyncEvent {
  AsyncEventType type = AsyncEventType::kLlpConnectionLost;
  std::uint32_t qp_num = 0;      ///< 0: none
  const void* object = nullptr;  ///< the CQ or SRQ
  std::optional<rdmap::Terminate> terminate;
};

}  // namespace iwarp::verbs
