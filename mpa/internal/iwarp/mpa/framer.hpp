// SPDX-License-Identifier: Apache-2.0
// Framer: turns ULPDUs into a gather list of stream octets (RFC 5044 sections 4.1 to 4.4). Adds
// length, PAD, CRC and, if the peer asked for them, markers. The gather list points to payload in
// the application's memory, unless the caller asks for a copy. All other octets are in one ring,
// which the Framer owns. The caller decides what is sent and when; the Framer does not interpret
// DDP headers.
//
// <!-- figure: source test/unit/mpa/stream.hpp | block inline Octets send_all -->
// ```cpp
// inline Octets send_all(mpa::Framer& framer, std::size_t cut = static_cast<std::size_t>(-1)) {
//   Octets all;
//   while (framer.queued_octets() != 0) {
//     const Octets queued = join(framer.plan(1024));
//     const std::size_t n = std::min(cut, queued.size());
//     append(all, View(queued).first(n));
//     framer.sent(n);
//   }
//   return all;
// }
// ```
// <!-- end -->
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/fpdu.hpp"
#include "iwarp/mpa/moving_queue.hpp"

namespace iwarp::mpa {

/// Options of a Framer. The Framer raises limits that are too small for one FPDU of the largest
/// size.
struct FramerOptions {
  bool markers = false;  ///< the peer set M: the Framer inserts markers [MPA-24] [MPA-70]
  bool crc = true;       ///< CRCs were negotiated; if false, the CRC field is zero [MPA-17]
  /// Size of the ring in octets. The ring holds headers, trailers, markers and copied payload.
  std::size_t ring = 256 * 1024;
  std::size_t max_fpdus = 256;    ///< largest number of FPDUs in the queue
  std::size_t max_pieces = 1024;  ///< largest number of gather pieces in the queue
  /// Payload of up to this many octets is copied next to its header. If the value is kMaxMulpdu,
  /// all payload is copied. The application may then change the payload as soon as frame() has
  /// returned, and the CRC remains correct.
  std::size_t copy_below = 512;
  std::uint64_t position = 0;  ///< for tests: first stream position, a multiple of 4
};

/// Totals since the Framer was made, including FPDUs that drop_unsent() dropped.
struct FramerCounters {
  std::uint64_t fpdus = 0;
  std::uint64_t markers = 0;
  std::uint64_t pad_octets = 0;
  std::uint64_t octets = 0;         ///< stream octets produced, markers included
  std::uint64_t octets_copied = 0;  ///< payload octets that frame() or detach() copied
  std::uint64_t octets_crced = 0;   ///< octets over which a CRC was computed
};

/// Whether frame() copies the payload of an FPDU.
enum class PayloadMode : std::uint8_t {
  kInPlace,  ///< payload above copy_below is not copied, and must not change until it is sent
  kCopy,     ///< frame() copies the payload, whatever its size
};

/// The sending half of MPA in full operation. Not thread-safe.
class Framer {
 public:
  /// Throws std::bad_alloc.
  explicit Framer(const FramerOptions& options);
  Framer(Framer&&) = default;
  ~Framer();

  /// Returns whether an FPDU with this much header and payload can be queued now. If not, the
  /// caller sends queued octets, calls pop_sent(), and calls this function again; an FPDU that has
  /// been sent occupies the queue until pop_sent() returns it. While the queue is empty, there is
  /// room for any ULPDU up to 64768 octets.
  bool room(std::size_t header_size, std::size_t payload_size, PayloadMode mode) const {
    return room(need(header_size, payload_size, mode), SIZE_MAX);
  }
  /// The room that an FPDU needs. A caller that queues many FPDUs of the same size computes their
  /// Need only once.
  struct Need {
    std::size_t octets = 0;  ///< octets of the ring
    std::size_t pieces = 0;  ///< pieces of the gather list
  };
  /// Returns the room that an FPDU with this much header and payload needs.
  Need need(std::size_t header_size, std::size_t payload_size, PayloadMode mode) const;
  /// Returns whether there is room for `need`, and fewer than `queued_below` octets are queued.
  bool room(const Need& need, std::size_t queued_below) const;

  /// Queues one FPDU. Its ULPDU consists of `header`, which is copied, and `payload`. Call only if
  /// there is room(). pop_sent() returns `cookie` once the last octet of the FPDU has been sent.
  /// header.size() <= 96; the ULPDU is at most 64768 octets. [MPA-3] [MPA-7] If reading the payload
  /// faults (see bytes::guarded()), part of an FPDU remains in the queue; call drop_unsent() before
  /// any other function.
  void frame(bytes::View header, const bytes::Gather& payload, PayloadMode mode,
             std::uint64_t cookie);

  /// Returns the queued octets in stream order, in at most `limit` pieces, valid until the next
  /// call that is not const; empty if there is nothing to send.
  std::span<const bytes::View> plan(std::size_t limit) const;

  /// Reports that the first `n` octets of plan() have been sent. `n` is at most the total of
  /// plan().
  void sent(std::size_t n);

  /// Removes the oldest FPDU from the queue if it has been sent completely, and returns its cookie.
  /// Otherwise returns nullopt.
  std::optional<std::uint64_t> pop_sent();

  /// Copies the queued pieces that lie inside `memory`, which is about to be deregistered or
  /// invalidated, so that the Framer no longer refers to that memory. May allocate. Returns false
  /// if a piece could not be read because of a memory fault at bytes::touching.address.
  bool detach(bytes::View memory);
  /// Does what detach() does, for all payload that has not been copied.
  bool detach_all();

  /// Drops all queued FPDUs whose first octet has not been sent, and their cookies. Keeps an FPDU
  /// that has been sent in part, so that the stream stays well formed, and keeps all FPDUs up to
  /// the last one whose cookie is `keep`. [VRB-20]
  void drop_unsent(std::optional<std::uint64_t> keep = std::nullopt);

  /// Returns how many octets are queued.
  std::size_t queued_octets() const;
  /// Returns the counters.
  const FramerCounters& counters() const { return counters_; }

 private:
  /// An FPDU in the queue. It begins, with its leading marker, where the previous FPDU ends.
  struct Record {
    std::uint64_t cookie = 0;
    std::uint64_t end = 0;  ///< stream position where the FPDU ends
  };
  /// A copy of payload that detach() has made, because the caller is about to deregister or
  /// invalidate the memory. The copy is freed when all octets before stream position `end` have
  /// been sent.
  struct Detached {
    std::uint64_t end = 0;
    std::unique_ptr<std::byte[]> octets;
  };

  // Functions that add octets to the stream.
  bool fits_in_one(std::size_t ulpdu_length) const;
  void append_in_one(bytes::View header, const bytes::Gather& payload, std::size_t ulpdu_length);
  void append_in_parts(bytes::View header, const bytes::Gather& payload, std::size_t ulpdu_length,
                       bool copied);
  void append_front(bytes::View header, std::size_t ulpdu_length);
  void append_copied(bytes::View octets);
  void append_in_place(bytes::View octets);
  void append_crc();
  void append_marker();
  void write_ring(bytes::View octets, bool covered);
  std::size_t until_marker();
  void push_piece(bytes::View piece, bool is_in_ring);
  bool in_ring(bytes::View piece) const;

  // Functions that remove octets from the queue.
  void begin_ring();
  void end_ring();
  void release(bytes::View left);
  void cut_pieces(std::uint64_t keep);
  template <typename Predicate>
  bool detach_if(const Predicate& wanted);
  /// Returns the stream position where the last FPDU in `records_` begins.
  std::uint64_t back_begin() const {
    return records_.size() > 1 ? std::prev(records_.end(), 2)->end : records_begin_;
  }
  bool front_has_left() const {
    return !records_.empty() && records_.front().end <= sent_position_;
  }

  FramerOptions options_;
  std::size_t ring_size_;
  /// null while nothing is queued; all queued FPDUs use the ring
  std::unique_ptr<std::byte[]> ring_;
  std::size_t ring_next_ = 0;  ///< where the next octet is written
  std::size_t ring_used_ = 0;

  std::size_t max_pieces_;
  MovingQueue<bytes::View> pieces_;

  std::size_t max_fpdus_;
  MovingQueue<Record> records_;  ///< FPDUs that pop_sent() has not returned yet
  /// Stream position of the first FPDU in `records_` or, if it is empty, of the next FPDU.
  std::uint64_t records_begin_;

  std::uint64_t position_;        ///< stream position of the next octet to queue [MPA-32]
  std::uint64_t sent_position_;   ///< stream position of the next octet to send
  std::uint64_t fpdu_start_ = 0;  ///< position of ULPDU_Length of the FPDU being built
  bool fpdu_begun_ = false;       ///< ULPDU_Length of the FPDU being built has been written
  std::uint32_t crc_ = 0;
  std::vector<Detached> detached_;
  FramerCounters counters_;
};

}  // namespace iwarp::mpa
