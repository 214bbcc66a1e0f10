// SPDX-License-Identifier: Apache-2.0
// What RDMAP asks of the verbs layer above it, and what the two hand each other.
// RDMAP pulls: operations, buffers and memory are asked for at the moment they are needed, so no
// queue is kept twice and a right that was taken back counts from the next segment on.
#pragma once

#include <cstdint>
#include <expected>

#include "iwarp/bytes/view.hpp"
#include "iwarp/ddp/arrival.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::rdmap {

/// Why memory may not be used. RDMAP turns it into the code that fits the message.
enum class AccessError : std::uint8_t {
  kStagInvalid,  ///< no such STag, or it was invalidated
  kOutOfBounds,  ///< not inside the registered octets
  kNoRight,      ///< the registration does not allow this kind of access
  kOtherStream,  ///< belongs to another protection domain or another stream
  kWraps,        ///< TO + length exceeds 2^64
  kMisaligned,   ///< the target of an Atomic is not on an 8-octet boundary
};

/// An operation of the ULP: Write, Read Request, one of the four Sends, and where RFC 7306 was
/// agreed on Atomic Request and the two Immediates. A length of 0 is as good as any other.
/// [RDMAP-28] [RDMAP-38] [RDMAP-56]
struct Request {
  Opcode opcode = Opcode::kSend;
  std::uint32_t length = 0;
  bytes::Gather payload;  ///< Write and Sends: `length` octets that stay put until sent()
  Stag stag;              ///< Write: sink; Read: source; Send with Invalidate: what to invalidate
  TaggedOffset to;        ///< Write and Read: in the one remote buffer, anywhere [RDMAP-27]
  Stag sink_stag;         ///< Read: the local buffer as the peer names it
  TaggedOffset sink_to;   ///< Read
  bytes::Span sink;       ///< Read: the local buffer itself, `length` octets, until read_done()
  AtomicRequest atomic;   ///< Atomic Request; its id differs from those outstanding
  std::uint64_t immediate = 0;  ///< Immediate: leaves with its most significant octet first
  std::uint64_t cookie = 0;     ///< below 2^62; comes back in sent() and in ..._done()
};

/// A Send or Immediate that has arrived whole.
struct ReceivedSend {
  Opcode opcode = Opcode::kSend;
  std::uint32_t length = 0;  ///< may be less than the buffer [RDMAP-50]
  bool solicited = false;    ///< [RDMAP-53]
  bool invalidate = false;
  Stag invalidated;  ///< when `invalidate`
  /// Of an Immediate; then `length` is 0, nothing was placed. Of a Send that an Immediate announced
  /// that one's, which is not 0.
  std::uint64_t immediate = 0;
};

class Ulp {
 public:
  /// Outbound. The next operation in submit order into `out`; false: none now. With `read_credit`
  /// false ORD is used up and a Read or Atomic Request has to wait (return false). [RDMAP-71]
  /// [RDMAP-83]
  virtual bool next_request(bool read_credit, Request& out) = 0;
  /// The last octet of the operation has left. For Reads and Atomics: of the request. [RDMAP-72]
  virtual void sent(std::uint64_t cookie) = 0;
  /// The Read Response was delivered: all octets are in the sink. [RDMAP-77] [RDMAP-79]
  virtual void read_done(std::uint64_t cookie) = 0;
  /// The Atomic Response was delivered: `original` is what the peer's memory held. [EXT-36]
  virtual void atomic_done(std::uint64_t cookie, std::uint64_t original) = 0;

  /// The peer claims that it has delivered every message before the one with this MSN on the Send
  /// queue, which waits for a receive. Check the MSN: a hostile peer may send any value.
  virtual void delivered_before(Msn msn) = 0;

  /// Inbound Write: the memory behind (stag, to), which may be any part of it, into `out`;
  /// `length` > 0. [RDMAP-25] The memory stays usable until release_target().
  virtual std::expected<void, AccessError> write_target(Stag stag, TaggedOffset to,
                                                        std::uint32_t length, bytes::Span& out) = 0;
  virtual void release_target() = 0;
  /// Inbound Read: the memory to answer from; stays usable until release_source().
  virtual std::expected<bytes::View, AccessError> read_source(Stag stag, TaggedOffset to,
                                                              std::uint32_t length) = 0;
  virtual void release_source() = 0;
  /// Inbound Atomic, whose TO is aligned: does it to the memory behind (stag, to), in one piece as
  /// every other Atomic of this Rnic sees it, and says what was there before. After an error the
  /// memory is as it was. [EXT-4] [EXT-40] [EXT-67]
  virtual std::expected<std::uint64_t, AccessError> atomic(const AtomicRequest& request) = 0;

  /// The receive buffer for the Send that begins, into the empty `out`. An Immediate takes one as
  /// well, and leaves the memory behind it alone. Asked again before send_received(), for the Send
  /// that an Immediate announced, it is the same one. [RDMAP-49] [EXT-50]
  virtual bytes::Check receive_buffer(ddp::UntaggedBuffer& out) = 0;
  /// The Send is in the buffer last given out, or the Immediate has come. Invalidates first, if
  /// asked to, then completes. A Fault: the STag cannot be invalidated; the receive is not
  /// completed. [RDMAP-58] [RDMAP-67]
  virtual bytes::Check send_received(const ReceivedSend& send) = 0;
  /// The peer has ended the stream. [RDMAP-62]
  virtual void terminate_received(const Terminate& terminate) = 0;

 protected:
  ~Ulp() = default;
};

}  // namespace iwarp::rdmap
