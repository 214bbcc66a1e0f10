// SPDX-License-Identifier: Apache-2.0
// What the application receives: completions, queue pair states and asynchronous events.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "iwarp/ddp/types.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::verbs {

using ddp::Stag;

/// One of the two work queues of a queue pair: send queue or receive queue.
enum class WorkQueue : std::uint8_t {
  kSend,
  kReceive,  ///< also if it is shared
};

/// Outcome of a work request.
enum class WcStatus : std::uint8_t {
  kSuccess,           ///< see ConnectionOptions::completions for what it promises
  kLocalLength,       ///< receive: the Send was longer; datagram: longer than max_payload
  kLocalQpOperation,  ///< not possible on this connection (ORD 0, no RFC 7306), or Fast-Register
                      ///< of a region that is valid or of another domain
  kLocalProtection,   ///< lkey, domain, bounds or rights of a local buffer, or it is unmapped
  kWrFlush,           ///< not executed: the queue pair left RTS
  kMwBind,            ///< a window could not be bound, or an STag could not be invalidated
  kBadResponse,       ///< reserved; never reported
  kLocalAccess,       ///< reserved; never reported
  kRemoteInvalidRequest,  ///< misaligned atomic, or a Send longer than the peer's receive
  kRemoteAccess,          ///< the peer terminated because of an STag, its bounds or its rights
  kRemoteOperation,       ///< the peer terminated for another reason
  // Only with Completions::kAcknowledged.
  kRnrRetryExceeded,  ///< the peer posted no receive for it in time
  kRetryExceeded,     ///< the peer was gone, or did not answer in time, before it acknowledged this
  kFatal,             ///< reserved; never reported
};
/// Returns the status in words; "unknown" for a value that is not one.
std::string_view to_string(WcStatus status);

/// The operation that completed.
enum class WcOpcode : std::uint8_t {
  kSend,             ///< Send of any kind, or Immediate
  kWrite,            ///< RDMA Write, with or without Immediate
  kRead,             ///< RDMA Read, with or without Invalidate
  kLocalInvalidate,  ///< Local Invalidate
  kFastRegister,     ///< Fast-Register
  kBindWindow,       ///< Bind Memory Window
  kRecv,             ///< receive, by a Send without Immediate
  kFetchAdd,         ///< atomic FetchAdd
  kCmpSwap,          ///< atomic CmpSwap
  /// Receive, consumed by an Immediate: see `immediate`. Its buffer is unchanged.
  kRecvImmediate,
  /// Receive, by a Send with Immediate: `byte_len` octets in the buffer, and `immediate`.
  kRecvSendImmediate,
  /// Receive, by a datagram from `source_qp`: a GRH of kGrhSize octets and then the payload.
  /// `byte_len` counts both.
  kRecvDatagram,
  /// As kRecvDatagram, with `immediate`.
  kRecvDatagramImmediate,
};
/// Returns the operation in words; "unknown" for a value that is not one.
std::string_view to_string(WcOpcode opcode);

/// Work completion. If `status` is not kSuccess, only wr_id, status and qp_num are valid.
struct WorkCompletion {
  std::uint64_t wr_id = 0;  ///< of the request
  WcStatus status = WcStatus::kSuccess;
  WcOpcode opcode = WcOpcode::kSend;
  /// Bytes put into the buffers of the request. kRecv and kRecvSendImmediate: length of the Send;
  /// kRead: bytes read; atomics: 8; kRecvImmediate: 0, even if a Write came with it.
  std::uint32_t byte_len = 0;
  std::uint32_t qp_num = 0;     ///< of the queue pair whose request completed
  bool solicited = false;       ///< receives: the peer set SendFlags::kSolicited
  bool invalidated = false;     ///< kRecv: the Send has invalidated `invalidated_stag`
  Stag invalidated_stag;        ///< if `invalidated`
  std::uint32_t source_qp = 0;  ///< datagrams: number of the sending queue pair
  bool over_ipv4 = false;       ///< datagrams: the GRH holds an IPv4 header, otherwise IPv6
  /// kRecvImmediate: bytes that the peer's RDMA Writes directly before it placed, if contiguous.
  std::uint32_t written = 0;
  /// kRecvImmediate: 64 bits; kRecvSendImmediate: in the upper 32; kRecvDatagramImmediate: 32 bits.
  std::uint64_t immediate = 0;
};

/// States of a queue pair, named as in the RDMA verbs draft, section 6.2; see qp_fsm.hpp. [VRB-5]
enum class QpState : std::uint8_t { kIdle, kRts, kTerminate, kClosing, kError };
/// Returns the state's name in the draft; "unknown" for a value that is not one.
std::string_view to_string(QpState state);

/// What an asynchronous event is about.
enum class AsyncEventType : std::uint8_t {
  kTerminateReceived,  ///< QP: the peer ended the stream, see `terminate`
  kTerminateSent,      ///< QP: this end ended the stream because of the peer, see `terminate`
  kLlpConnectionLost,  ///< QP: TCP was reset, or closed while work was outstanding
  kLlpCloseComplete,   ///< QP: an orderly close is complete [VRB-18]
  kBadClose,           ///< QP: closed while work was outstanding or data arrived [VRB-17]
  kCqOverflow,         ///< CQ: completions were lost; its queue pairs go to Error
  kSrqLimit,           ///< SRQ: fewer receives than SharedReceiveQueue::arm_limit() remain
  kLastReceive,        ///< QP with an SRQ: it is in Error and consumes no more receives
};
/// Returns the type in words; "unknown" for a value that is not one.
std::string_view to_string(AsyncEventType type);

/// An event that belongs to no request.
struct AsyncEvent {
  AsyncEventType type = AsyncEventType::kLlpConnectionLost;
  std::uint32_t qp_num = 0;                   ///< 0 if no queue pair is concerned
  const void* object = nullptr;               ///< kCqOverflow: the CQ; kSrqLimit: the SRQ
  std::optional<rdmap::Terminate> terminate;  ///< kTerminateReceived, kTerminateSent
};

}  // namespace iwarp::verbs
