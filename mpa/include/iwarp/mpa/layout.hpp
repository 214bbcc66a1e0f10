// SPDX-License-Identifier: Apache-2.0
// FpduLayout: the offsets of the parts of one FPDU, with markers (RFC 5044 sections 4.1 to 4.3). A
// "wire offset" counts every octet from the first one that the CRC covers, which is the leading
// marker if there is one, and ULPDU_Length otherwise. This class only computes; the framer and the
// deframer move the octets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "iwarp/mpa/fpdu.hpp"

namespace iwarp::mpa {

/// The largest value that fits into ULPDU_Length. RFC 5044 allows only smaller values, but a peer
/// may break that rule.
inline constexpr std::size_t kMaxLengthField = 65535;
/// Returns the largest number of markers that an FPDU with a ULPDU of this length can have.
constexpr std::size_t max_markers(std::size_t ulpdu_length) {
  return fpdu_size(ulpdu_length) / (kMarkerInterval - kMarkerSize) + 1;
}
/// The largest number of markers in an FPDU, and the size of the largest FPDU with its markers.
inline constexpr std::size_t kMaxMarkers = max_markers(kMaxLengthField);
inline constexpr std::size_t kMaxWireSize = fpdu_size(kMaxLengthField) + kMarkerSize * kMaxMarkers;

/// Returns how many octets lie between `position` and the next marker; 0 if a marker is due at
/// `position`. [MPA-25]
constexpr std::size_t to_next_marker(std::uint64_t position) {
  return static_cast<std::size_t>(-position % kMarkerInterval);
}

/// A leading marker is a marker directly before ULPDU_Length, and belongs to the same FPDU. Returns
/// the size of the leading marker of the FPDU that begins at `position`, or 0 if that FPDU has
/// none. [MPA-29]
constexpr std::size_t leading_marker_size(std::uint64_t position, bool markers) {
  return markers && to_next_marker(position) == 0 ? kMarkerSize : 0;
}

/// The layout of one FPDU. All offsets are wire offsets. All sizes are in octets and include
/// markers.
class FpduLayout {
 public:
  FpduLayout() = default;
  /// Computes the layout of the FPDU that begins at stream position `start`, a multiple of 4.
  FpduLayout(std::uint64_t start, bool markers, std::size_t ulpdu_length)
      : ulpdu_length_(ulpdu_length), wire_size_(fpdu_size(ulpdu_length)) {
    if (!markers) return;
    first_marker_ = to_next_marker(start);
    marker_count_ = markers_within(start, wire_size_);
    wire_size_ += kMarkerSize * marker_count_;
  }

  /// Return the length of the ULPDU, the size of the FPDU, the offset of its CRC and the number of
  /// its markers.
  std::size_t ulpdu_length() const { return ulpdu_length_; }
  std::size_t wire_size() const { return wire_size_; }
  std::size_t crc_offset() const { return wire_size_ - kCrcSize; }
  std::size_t marker_count() const { return marker_count_; }
  /// Returns the offset of a marker; `index` counts from 0.
  std::size_t marker_offset(std::size_t index) const {
    return first_marker_ + kMarkerInterval * index;
  }
  /// Returns the offset of ULPDU_Length: the size of the leading marker, or 0 if there is none.
  std::size_t length_offset() const {
    return marker_count_ != 0 && first_marker_ == 0 ? kMarkerSize : 0;
  }
  /// Returns the FPDUPTR that marker `index` must hold: the distance of the marker from
  /// ULPDU_Length, or 0 if it is the leading marker. The result is modulo 2^16, which matters only
  /// for lengths above the RFC's limit. [MPA-27] [MPA-28] [MPA-30]
  std::uint16_t fpduptr(std::size_t index) const {
    const std::size_t offset = marker_offset(index);
    return offset == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(offset - length_offset());
  }

  /// Returns the offset of ULPDU octet `index`, counted from 0.
  std::size_t offset_of(std::size_t index) const {
    const std::size_t data = kLengthFieldSize + index;
    if (marker_count_ == 0 || data < first_marker_) return data;
    const std::size_t before = 1 + (data - first_marker_) / (kMarkerInterval - kMarkerSize);
    return data + kMarkerSize * std::min(before, marker_count_);
  }
  /// Returns the offset just after the first `count` ULPDU octets, before any marker that follows.
  std::size_t end_of(std::size_t count) const {
    return count == 0 ? length_offset() + kLengthFieldSize : offset_of(count - 1) + 1;
  }
  /// A range of octets that either lies inside one marker or contains no marker octet.
  struct Run {
    std::size_t offset;
    std::size_t size;
    bool marker;
    std::size_t marker_index;  ///< index of the marker, if `marker`
  };
  /// Calls visit(Run) for each run of the range [from, to), in order.
  template <typename Visit>
  void walk(std::size_t from, std::size_t to, Visit visit) const {
    while (from < to) {
      const std::size_t index = from < first_marker_ + kMarkerSize
                                    ? 0
                                    : (from - first_marker_ - kMarkerSize) / kMarkerInterval + 1;
      std::size_t end = to;
      bool marker = false;
      if (index < marker_count_) {
        marker = from >= marker_offset(index);
        end = std::min(to, marker_offset(index) + (marker ? kMarkerSize : 0));
      }
      visit(Run{from, end - from, marker, index});
      from = end;
    }
  }

 private:
  std::size_t first_marker_ = 0;
  std::size_t marker_count_ = 0;
  std::size_t ulpdu_length_ = 0;
  std::size_t wire_size_ = 0;
};

}  // namespace iwarp::mpa
