// SPDX-License-Identifier: Apache-2.0
// Framer: ULPDUs in, a gather list of stream octets out (RFC 5044 sections 4.1 to 4.4).
// Adds length, PAD, CRC and, when the peer asked for them, markers. Payload stays where it is
// unless the caller says otherwise; everything else lives in one ring of octets owned here.
// It does not decide what is sent or when, and knows nothing of DDP.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/fpdu.hpp"

namespace iwarp::mpa {

struct FramerOptions {
  bool markers = false;  ///< the peer set M: insert markers toward it [MPA-24] [MPA-70]
  bool crc = true;       ///< CRC negotiated on; when off the field is sent as zero [MPA-17]
  std::size_t ring = 256 * 1024;  ///< octets for headers, trailers, markers and copied payload
  std::size_t max_fpdus = 256;    ///< FPDUs queued at a time
  std::size_t max_pieces = 1024;  ///< gather pieces queued at a time
  /// Payload up to this size is copied next to its header. kMaxMulpdu: all of it, so that it may
  /// change as soon as frame() returns and what leaves still has the right CRC.
  std::size_t copy_below = 512;
  std::uint64_t position = 0;  ///< stream position to begin at, a multiple of 4 (tests)
};

/// What the Framer did since it was made, FPDUs that drop_unsent() took back included.
struct FramerCounters {
  std::uint64_t fpdus = 0;
  std::uint64_t markers = 0;
  std::uint64_t pad_octets = 0;
  std::uint64_t octets = 0;         ///< stream octets produced, markers included
  std::uint64_t octets_copied = 0;  ///< payload octets copied: to the ring, or by detach()
  std::uint64_t octets_crced = 0;
};

enum class PayloadMode : std::uint8_t {
  kInPlace,  ///< above copy_below sent from where it is: the CRC is right if it does not change
  kCopy,     ///< copied at once, whatever its size
};

class Framer {
 public:
  explicit Framer(const FramerOptions& options);
  ~Framer();
  Framer(Framer&&) noexcept;
  Framer& operator=(Framer&&) noexcept;

  /// True when an FPDU with this much header and payload can be queued now. After false: send
  /// something, pop_sent() what has left (it keeps its place until then), then ask again. With
  /// empty queues any ULPDU up to 64768 octets has room: smaller limits in the options are raised.
  bool room(std::size_t header_size, std::size_t payload_size, PayloadMode mode) const {
    return room(need(header_size, payload_size, mode), SIZE_MAX);
  }
  /// What an FPDU takes: for who asks for the same room again and again.
  struct Need {
    std::size_t octets = 0;  ///< of the ring
    std::size_t pieces = 0;
  };
  Need need(std::size_t header_size, std::size_t payload_size, PayloadMode mode) const;
  /// And less than `queued_below` octets are queued.
  bool room(const Need& need, std::size_t queued_below) const;

  /// Queues one FPDU whose ULPDU is `header` (copied) then `payload`. Call only after room() said
  /// yes. `cookie` comes back from pop_sent() once the last octet of the FPDU has left.
  /// header.size() <= 96; the ULPDU is at most 64768 octets. [MPA-3] [MPA-7]
  /// A fault in the payload (bytes::guarded()) leaves a part that drop_unsent() removes; nothing
  /// else may be called before.
  void frame(bytes::View header, const bytes::Gather& payload, PayloadMode mode,
             std::uint64_t cookie);

  /// The queued octets in stream order, at most `limit` pieces. Valid until the next non-const
  /// call. Empty: nothing to send.
  std::span<const bytes::View> plan(std::size_t limit) const;

  /// The first `n` octets of plan() left. `n` is at most the total of the plan.
  void sent(std::size_t n);

  /// Cookie of the next FPDU that has left completely, in order; nullopt when there is none.
  std::optional<std::uint64_t> pop_sent();

  /// Copies queued pieces that lie inside `memory` to storage of our own, so that `memory` may go
  /// away. Rare (a deregister or invalidate under way); may allocate. False: some could not be
  /// read, at bytes::touching.address.
  bool detach(bytes::View memory);
  /// The same for all memory that is not ours.
  bool detach_all();

  /// Drops every queued FPDU of which no octet has left; keeps the one that is half out, so that
  /// the stream stays well formed. Their cookies never come back. [VRB-20]
  void drop_unsent();

  std::size_t queued_octets() const;
  std::size_t queued_fpdus() const;
  /// True when some but not all octets of the first queued FPDU have left.
  bool mid_fpdu() const;
  const FramerCounters& counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iwarp::mpa
