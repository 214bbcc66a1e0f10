// SPDX-License-Identifier: Apache-2.0
// Ulp: the functions that RDMAP needs of the verbs layer above it. RDMAP asks for operations,
// buffers and memory only when it needs them. So RDMAP does not duplicate the queues of the verbs
// layer, and if an access right is withdrawn, RDMAP refuses the access from the next segment on.
#pragma once

#include <cstdint>
#include <expected>

#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/arrival.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::rdmap {

/// An operation of the ULP: a Write, a Read Request or one of the four Sends. If both ends agreed
/// to RFC 7306, the operation may also be an Atomic Request or one of the two Immediates. The
/// length may be 0. [RDMAP-28] [RDMAP-38] [RDMAP-56]
struct Request {
  Opcode opcode = Opcode::kSend;
  std::uint32_t length = 0;  ///< octets of payload, or octets to read
  bytes::Gather payload;     ///< Write and Sends: `length` octets, which stay valid until sent()
  /// STag of the sink (Write) or source (Read), or the STag to invalidate (Send with Invalidate).
  Stag stag;
  TaggedOffset to;       ///< Write and Read: offset in the remote buffer [RDMAP-27]
  Stag sink_stag;        ///< Read: STag of the local buffer, for the Read Response
  TaggedOffset sink_to;  ///< Read: TO of the local buffer
  bytes::Span sink;      ///< Read: the local buffer, `length` octets, valid until read_done()
  AtomicRequest atomic;  ///< Atomic: the request; no outstanding Atomic has the same id
  /// Immediate: its value, sent with the most significant octet first.
  std::uint64_t immediate = 0;
  std::uint64_t cookie = 0;  ///< below 2^62; passed to sent(), read_done() and atomic_done()
};

/// A Send or Immediate that has arrived completely.
struct ReceivedSend {
  Opcode opcode = Opcode::kSend;
  std::uint32_t length = 0;  ///< octets of the message; may be smaller than the buffer [RDMAP-50]
  bool solicited = false;    ///< the message asks for a Solicited Event [RDMAP-53]
  bool invalidate = false;   ///< the message asks to invalidate `invalidated`
  Stag invalidated;          ///< STag to invalidate, if `invalidate`
  /// For an Immediate: its value; `length` is then 0, and the buffer is unchanged. For a Send: the
  /// value of the Immediate that announced this Send, or 0 if no Immediate did. The value of such
  /// an Immediate is never 0.
  std::uint64_t immediate = 0;
};

/// The protocol above RDMAP. Stream calls these functions in the thread that calls Stream.
class Ulp {
 public:
  /// Sets `out` to the next operation in the order of posting. Returns false if there is none now.
  /// If `read_credit` is false, the number of outstanding Reads and Atomics has reached ORD. Then a
  /// Read or Atomic Request has to wait, and the function returns false if such a request is next.
  /// [RDMAP-71] [RDMAP-83]
  virtual bool next_request(bool read_credit, Request& out) = 0;
  /// Reports that the last octet of the operation has been sent or, for a Read or an Atomic, the
  /// last octet of its request. [RDMAP-72]
  virtual void sent(std::uint64_t cookie) = 0;
  /// Reports that the Read Response has been delivered, and all its octets are in the sink.
  /// [RDMAP-77] [RDMAP-79]
  virtual void read_done(std::uint64_t cookie) = 0;
  /// Reports that the Atomic Response has been delivered. `original` is the value that the peer's
  /// word had before the operation. [EXT-36]
  virtual void atomic_done(std::uint64_t cookie, std::uint64_t original) = 0;

  /// Reports that, according to the peer, message `msn` of this end on queue 0 waits until the peer
  /// posts a receive, and every earlier message has been delivered. Check `msn`: a hostile peer may
  /// send any value.
  virtual void delivered_before(Msn msn) = 0;

  /// Inbound Write: sets `out` to the memory of the `length` > 0 octets at (stag, to), which may be
  /// anywhere in the region. This memory must stay valid until release_target(). [RDMAP-25]
  virtual std::expected<void, AccessError> write_target(Stag stag, TaggedOffset to,
                                                        std::uint32_t length, bytes::Span& out) = 0;
  /// Reports that RDMAP no longer uses the memory of write_target().
  virtual void release_target() = 0;
  /// Inbound Read: returns the memory whose contents answer the Read. This memory must stay valid
  /// until release_source().
  virtual std::expected<bytes::View, AccessError> read_source(Stag stag, TaggedOffset to,
                                                              std::uint32_t length) = 0;
  /// Reports that RDMAP no longer uses the memory of read_source().
  virtual void release_source() = 0;
  /// Inbound Atomic with an aligned TO: executes the Atomic on the memory at (stag, to), atomically
  /// with respect to all other Atomics of this Rnic, and returns the value that the word had before
  /// the Atomic. On failure the memory is unchanged. [EXT-4] [EXT-40] [EXT-67]
  virtual std::expected<std::uint64_t, AccessError> atomic(const AtomicRequest& request) = 0;

  /// Sets the empty `out` to the receive buffer for the Send that begins. An Immediate consumes a
  /// receive as well, and leaves its memory unchanged. A Send to which an Immediate belongs uses
  /// the receive of the Immediate: if Stream calls receive_buffer() twice without send_received()
  /// in between, both calls return the same buffer. [RDMAP-49] [EXT-50]
  virtual bytes::Check receive_buffer(ddp::UntaggedBuffer& out) = 0;
  /// Processes a Send, which is in the buffer of receive_buffer(), or an Immediate. Invalidates the
  /// STag, if the message asks for that, and then completes the receive. If the STag cannot be
  /// invalidated, fails with a fault and does not complete the receive. [RDMAP-58] [RDMAP-67]
  virtual bytes::Check send_received(const ReceivedSend& send) = 0;
  /// Reports that the peer's Terminate has arrived. [RDMAP-62]
  virtual void terminate_received(const Terminate& terminate) = 0;

 protected:
  ~Ulp() = default;
};

}  // namespace iwarp::rdmap
