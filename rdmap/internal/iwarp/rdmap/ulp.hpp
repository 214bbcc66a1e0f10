// SPDX-License-Identifier: Apache-2.0
// Ulp: what RDMAP needs from the verbs layer above it. RDMAP pulls: it asks for operations, buffers
// and memory when it needs them, so that no queue exists twice and a right that is withdrawn counts
// from the next segment on.
#pragma once

#include <cstdint>
#include <expected>

#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/arrival.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::rdmap {

/// An operation of the ULP: Write, Read Request, one of the four Sends, and, if RFC 7306 was agreed
/// on, Atomic Request and the two Immediates. The length may be 0. [RDMAP-28] [RDMAP-38] [RDMAP-56]
struct Request {
  Opcode opcode = Opcode::kSend;
  std::uint32_t length = 0;  ///< octets
  bytes::Gather payload;     ///< Write and Sends: `length` octets, valid until sent()
  Stag stag;             ///< Write: sink; Read: source; Send with Invalidate: what to invalidate
  TaggedOffset to;       ///< Write and Read: in the one remote buffer, anywhere [RDMAP-27]
  Stag sink_stag;        ///< Read: the local buffer as the peer names it
  TaggedOffset sink_to;  ///< Read
  bytes::Span sink;      ///< Read: the local buffer itself, `length` octets, until read_done()
  AtomicRequest atomic;  ///< Atomic Request; its id differs from those outstanding
  std::uint64_t immediate = 0;  ///< Immediate: sent with its most significant octet first
  std::uint64_t cookie = 0;     ///< below 2^62; passed to sent(), read_done() and atomic_done()
};

/// A Send or Immediate that has arrived completely.
struct ReceivedSend {
  Opcode opcode = Opcode::kSend;
  std::uint32_t length = 0;  ///< may be less than the buffer [RDMAP-50]
  bool solicited = false;    ///< [RDMAP-53]
  bool invalidate = false;   ///< the message asks to invalidate `invalidated`
  Stag invalidated;          ///< if `invalidate`
  /// Immediate: its value; `length` is 0 and nothing has been placed. Send to which an Immediate
  /// belongs: the value of that Immediate, which is not 0.
  std::uint64_t immediate = 0;
};

/// The protocol above RDMAP. Called from the functions of Stream, in their thread.
class Ulp {
 public:
  /// Sets `out` to the next operation, in the order submitted. Returns false if there is none at
  /// present. Without `read_credit` ORD is used up, and a Read or Atomic Request has to wait
  /// (return false). [RDMAP-71] [RDMAP-83]
  virtual bool next_request(bool read_credit, Request& out) = 0;
  /// The last octet of the operation, for Reads and Atomics of the request, has been sent.
  /// [RDMAP-72]
  virtual void sent(std::uint64_t cookie) = 0;
  /// The Read Response has been delivered: all octets are in the sink. [RDMAP-77] [RDMAP-79]
  virtual void read_done(std::uint64_t cookie) = 0;
  /// The Atomic Response has been delivered: `original` is the former word of the peer. [EXT-36]
  virtual void atomic_done(std::uint64_t cookie, std::uint64_t original) = 0;

  /// The peer claims that it has delivered every message before the one with this MSN on the Send
  /// queue, which waits for a receive. Check the MSN: a hostile peer may send any value.
  virtual void delivered_before(Msn msn) = 0;

  /// Inbound Write: sets `out` to the `length` > 0 octets at (stag, to), anywhere in the region.
  /// They must stay valid until release_target(). [RDMAP-25]
  virtual std::expected<void, AccessError> write_target(Stag stag, TaggedOffset to,
                                                        std::uint32_t length, bytes::Span& out) = 0;
  /// The memory of write_target() is no longer used.
  virtual void release_target() = 0;
  /// Inbound Read: returns the memory to answer from, which must stay valid until release_source().
  virtual std::expected<bytes::View, AccessError> read_source(Stag stag, TaggedOffset to,
                                                              std::uint32_t length) = 0;
  /// The memory of read_source() is no longer used.
  virtual void release_source() = 0;
  /// Inbound Atomic with an aligned TO: executes it on the memory at (stag, to), atomically with
  /// respect to all other Atomics of this Rnic, and returns the former word. On failure the memory
  /// is unchanged. [EXT-4] [EXT-40] [EXT-67]
  virtual std::expected<std::uint64_t, AccessError> atomic(const AtomicRequest& request) = 0;

  /// Sets the empty `out` to the receive buffer for the Send that begins. An Immediate consumes one
  /// as well, and leaves its memory unchanged. If called again before send_received(), for the Send
  /// to which an Immediate belongs, it is the same buffer. [RDMAP-49] [EXT-50]
  virtual bytes::Check receive_buffer(ddp::UntaggedBuffer& out) = 0;
  /// The Send is in the buffer of receive_buffer(), or the Immediate has arrived: invalidates the
  /// STag, if asked to, and then completes the receive. Fails with a fault if the STag cannot be
  /// invalidated; then the receive is not completed. [RDMAP-58] [RDMAP-67]
  virtual bytes::Check send_received(const ReceivedSend& send) = 0;
  /// The peer has ended the stream. [RDMAP-62]
  virtual void terminate_received(const Terminate& terminate) = 0;

 protected:
  ~Ulp() = default;
};

}  // namespace iwarp::rdmap
