// SPDX-License-Identifier: Apache-2.0
// Views of octets, and bounded lists of views. Every layer uses both. A View never owns memory: the
// comment on each function that returns a View states how long the View is valid. Lists have a
// fixed capacity, so that nothing on the data path allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "iwarp/bytes/bounded_list.hpp"

namespace iwarp::bytes {

/// Octets to read. Does not own them.
using View = std::span<const std::byte>;
/// Octets to write. Does not own them.
using Span = std::span<std::byte>;

/// The largest number of scatter/gather elements of a work request.
inline constexpr std::size_t kMaxSge = 16;

/// Where payload comes from: read-only pieces, in order. Does not own them.
using Gather = BoundedList<View, kMaxSge>;
/// Where payload goes: writable pieces, in order. Does not own them.
using Scatter = BoundedList<Span, kMaxSge>;

/// Returns the number of octets in all pieces.
template <typename Pieces>
constexpr std::size_t total_size(const Pieces& pieces) {
  if (pieces.size() == 1) return pieces.front().size();  // the usual case
  std::size_t sum = 0;
  for (const auto& piece : pieces) sum += piece.size();
  return sum;
}

/// Appends to `out` the pieces that cover [offset, offset + length) of `pieces`. The range must lie
/// inside `pieces`.
template <typename Pieces>
void append_slice(Pieces& out, const Pieces& pieces, std::size_t offset, std::size_t length) {
  if (length != 0 && pieces.size() == 1) {  // the usual case
    return out.push_back(pieces.front().subspan(offset, length));
  }
  for (const auto& piece : pieces) {
    if (length == 0) break;
    if (offset >= piece.size()) {
      offset -= piece.size();
      continue;
    }
    const auto take = piece.size() - offset < length ? piece.size() - offset : length;
    out.push_back(piece.subspan(offset, take));
    length -= take;
    offset = 0;
  }
}

/// Does what append_slice() does, but replaces the contents of `out`.
template <typename Pieces>
void assign_slice(Pieces& out, const Pieces& pieces, std::size_t offset, std::size_t length) {
  if (length != 0 && pieces.size() == 1) {  // the usual case
    return out.assign(pieces.front().subspan(offset, length));
  }
  out.clear();
  append_slice(out, pieces, offset, length);
}

/// Returns the pieces that append_slice() would append.
template <typename Pieces>
Pieces slice(const Pieces& pieces, std::size_t offset, std::size_t length) {
  Pieces out;
  append_slice(out, pieces, offset, length);
  return out;
}

}  // namespace iwarp::bytes
