// SPDX-License-Identifier: Apache-2.0
// What a queue pair reports to the application: completions, states and asynchronous events.
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
  kReceive,  ///< the queue pair's own receive queue, or its SRQ
};

/// Outcome of a work request.
enum class WcStatus : std::uint8_t {
  kSuccess,      ///< the request succeeded; ConnectionOptions::completions says what that implies
  kLocalLength,  ///< receive: the Send was longer than the buffers; datagram: the payload was
                 ///< longer than max_payload
  /// the connection does not permit the request (the ORD is 0, or the peer has not agreed to RFC
  /// 7306), or the request was a Fast-Register of a region that is valid or belongs to another
  /// domain
  kLocalQpOperation,
  /// the lkey, domain, bounds or rights of a local buffer are wrong, or the buffer is unmapped
  kLocalProtection,
  kWrFlush,               ///< the request was not executed, because the queue pair left RTS
  kMwBind,                ///< a window could not be bound, or an STag could not be invalidated
  kBadResponse,           ///< reserved; never reported
  kLocalAccess,           ///< reserved; never reported
  kRemoteInvalidRequest,  ///< the atomic was misaligned, or the Send was longer than the peer's
                          ///< receive
  kRemoteAccess,     ///< the peer sent a Terminate because of an STag, its bounds or its rights
  kRemoteOperation,  ///< the peer sent a Terminate for another reason
  // The next two values occur only with Completions::kAcknowledged.
  kRnrRetryExceeded,  ///< the peer posted no receive for the message in time
  /// the connection was lost, or the peer did not answer in time, before the peer had acknowledged
  /// the request
  kRetryExceeded,
  kFatal,  ///< reserved; never reported
};
/// Returns the status in words. Returns "unknown" for a value that is no WcStatus.
std::string_view to_string(WcStatus status);

/// The operation that completed.
enum class WcOpcode : std::uint8_t {
  kSend,             ///< Send of any kind, or Immediate
  kWrite,            ///< RDMA Write, with or without Immediate
  kRead,             ///< RDMA Read, with or without Invalidate
  kLocalInvalidate,  ///< Local Invalidate
  kFastRegister,     ///< Fast-Register
  kBindWindow,       ///< Bind Memory Window
  kRecv,             ///< receive, consumed by a Send without Immediate
  kFetchAdd,         ///< atomic FetchAdd
  kCmpSwap,          ///< atomic CmpSwap
  /// Receive, consumed by an Immediate, whose value is in `immediate`. The buffer is unchanged.
  kRecvImmediate,
  /// Receive, consumed by a Send with Immediate: the buffer holds `byte_len` octets, and
  /// `immediate` is valid.
  kRecvSendImmediate,
  /// Receive, consumed by a datagram from `source_qp`: the buffer holds a GRH of kGrhSize octets
  /// and then the payload. `byte_len` counts both.
  kRecvDatagram,
  /// Receive, consumed by a datagram as for kRecvDatagram; `immediate` is valid.
  kRecvDatagramImmediate,
};
/// Returns the operation in words. Returns "unknown" for a value that is no WcOpcode.
std::string_view to_string(WcOpcode opcode);

/// Work completion. If `status` is not kSuccess, only wr_id, status and qp_num are valid.
struct WorkCompletion {
  std::uint64_t wr_id = 0;  ///< wr_id of the request
  WcStatus status = WcStatus::kSuccess;
  WcOpcode opcode = WcOpcode::kSend;
  /// Number of bytes written to the buffers of the request. kRecv and kRecvSendImmediate: length of
  /// the Send; kRead: bytes read; atomics: 8; kRecvImmediate: 0, even if the Immediate follows an
  /// RDMA Write.
  std::uint32_t byte_len = 0;
  std::uint32_t qp_num = 0;     ///< number of the queue pair whose request completed
  bool solicited = false;       ///< for a receive: whether the peer set SendFlags::kSolicited
  bool invalidated = false;     ///< for kRecv: whether the Send has invalidated `invalidated_stag`
  Stag invalidated_stag{};      ///< STag that the Send has invalidated, if `invalidated`
  std::uint32_t source_qp = 0;  ///< for a datagram: number of the sending queue pair
  /// For a datagram: true if the GRH holds an IPv4 header, false if it holds an IPv6 header.
  bool over_ipv4 = false;
  /// For kRecvImmediate: number of bytes placed by the last RDMA Writes that the peer sent before
  /// the Immediate. An earlier Write counts only if the next Write begins at the TO at which the
  /// earlier one ended.
  std::uint32_t written = 0;
  /// Value of the Immediate. kRecvImmediate: 64 bits; kRecvSendImmediate: the upper 32 bits;
  /// kRecvDatagramImmediate: 32 bits.
  std::uint64_t immediate = 0;
};

/// States of a queue pair, named as in the RDMA verbs draft, section 6.2; see qp_fsm.hpp. [VRB-5]
enum class QpState : std::uint8_t { kIdle, kRts, kTerminate, kClosing, kError };
/// Returns the state's name in the draft. Returns "unknown" for a value that is no QpState.
std::string_view to_string(QpState state);

/// The kinds of asynchronous events.
enum class AsyncEventType : std::uint8_t {
  kTerminateReceived,  ///< QP: the peer's Terminate ended the stream, see `terminate`
  kTerminateSent,      ///< QP: this end sent a Terminate because of an error of the peer, see
                       ///< `terminate`
  kLlpConnectionLost,  ///< QP: TCP was reset, or closed while work was outstanding
  kLlpCloseComplete,   ///< QP: an orderly close is complete [VRB-18]
  /// QP: an orderly close failed, because work was outstanding or data arrived [VRB-17]
  kBadClose,
  kCqOverflow,   ///< CQ: completions were lost; the queue pairs of the CQ move to Error
  kSrqLimit,     ///< SRQ: fewer receives remain than the limit of SharedReceiveQueue::arm_limit()
  kLastReceive,  ///< QP with an SRQ: the QP is in Error and consumes no more receives
  /// QP: a message of the peer has been waiting for a receive for two seconds, and goes on waiting.
  /// Raised once for each connection.
  kReceiveOverdue,
  // The drop-in libibverbs requests the following events; no function of this library does.
  kSendsDrained,  ///< QP: no request is outstanding since the send queue was stopped
  kFirstMessage,  ///< QP: the peer's first message has arrived
};
/// Returns the type in words. Returns "unknown" for a value that is no AsyncEventType.
std::string_view to_string(AsyncEventType type);

/// An event that does not belong to a request.
struct AsyncEvent {
  AsyncEventType type = AsyncEventType::kLlpConnectionLost;
  std::uint32_t qp_num = 0;  ///< number of the queue pair; 0 if the event is about a CQ or an SRQ
  const void* object = nullptr;  ///< kCqOverflow: the CQ; kSrqLimit: the SRQ
  /// The Terminate of kTerminateReceived or kTerminateSent.
  std::optional<rdmap::Terminate> terminate{};
};

}  // namespace iwarp::verbs
