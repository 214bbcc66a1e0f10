// SPDX-License-Identifier: Apache-2.0
// Placement: one FPDU whose payload is received straight into its destination. It determines the
// memory for the next wire octets, computes the CRC over the octets received, and collects the
// markers. The Deframer receives the trailer (PAD, CRC and a marker between them) in its staging
// area. The Deframer also checks the CRC and the markers; Placement checks neither.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/layout.hpp"

namespace iwarp::mpa {

class Placement {
 public:
  /// Begins a placement. `staged` holds the wire octets of the FPDU that have arrived so far.
  /// Copies the payload octets of `staged` to `target`, and returns their number.
  std::size_t begin(const FpduLayout& layout, bool crc, std::size_t header_size,
                    const bytes::Scatter& target, bytes::View staged);
  /// Directs the rest of the payload into scratch memory of this object.
  void abandon();

  /// Returns the wire offset where the trailer (PAD and CRC) begins. Placement handles all octets
  /// before the trailer.
  std::size_t trailer_offset() const { return layout_.end_of(layout_.ulpdu_length()); }
  /// Returns how many octets before the trailer are still missing.
  std::size_t missing() const { return trailer_offset() - arrived_; }

  /// Calls piece(Span) for each piece of memory for the missing octets, in stream order.
  template <typename Piece>
  void plan(Piece piece);
  /// Reports that the next octets have arrived in `memory`, which is a piece of plan() or the first
  /// part of such a piece.
  void arrived(bytes::View memory);

  /// Returns the CRC over all wire octets before the trailer.
  std::uint32_t crc() const { return crc_; }
  /// Returns the octets of marker `index`, which must be before the trailer.
  bytes::View marker(std::size_t index) const { return markers_[index]; }

 private:
  using Marker = std::array<std::byte, kMarkerSize>;

  FpduLayout layout_;
  bool check_crc_ = true;
  std::size_t arrived_ = 0;  ///< wire octets that have arrived; at most trailer_offset()
  std::uint32_t crc_ = 0;
  bytes::Scatter target_;
  std::size_t target_done_ = 0;  ///< octets of target_ that hold payload
  std::array<Marker, kMaxMarkers> markers_;
  std::vector<std::byte> scratch_;
};

template <typename Piece>
void Placement::plan(Piece piece) {
  std::size_t payload = target_done_;
  layout_.walk(arrived_, trailer_offset(), [&](const FpduLayout::Run& run) {
    if (run.marker) {
      const std::size_t within = run.offset - layout_.marker_offset(run.marker_index);
      piece(bytes::Span(markers_[run.marker_index]).subspan(within, run.size));
      return;
    }
    for (const bytes::Span span : bytes::slice(target_, payload, run.size)) piece(span);
    payload += run.size;
  });
}

}  // namespace iwarp::mpa
