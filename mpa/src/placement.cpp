// SPDX-License-Identifier: Apache-2.0
// Placement: copies octets that were staged before the destination was known, and updates the CRC
// and the counts for octets that arrive later. See placement.hpp.
#include "iwarp/mpa/placement.hpp"

#include <algorithm>
#include <cassert>

#include "iwarp/bytes/place.hpp"
#include "iwarp/bytes/touch.hpp"
#include "iwarp/crc32c/crc32c.hpp"

namespace iwarp::mpa {

using bytes::Span;
using bytes::View;

std::size_t Placement::begin(const FpduLayout& layout, bool crc, std::size_t header_size,
                             const bytes::Scatter& target, View staged) {
  assert(bytes::total_size(target) == layout.ulpdu_length() - header_size);
  layout_ = layout;
  check_crc_ = crc;
  target_ = target;
  target_done_ = 0;
  arrived_ = std::min(staged.size(), trailer_offset());
  staged = staged.first(arrived_);
  crc_ = check_crc_ ? crc32c::compute(staged) : 0;

  const std::size_t payload_offset = layout_.end_of(header_size);
  layout_.walk(0, arrived_, [&](const FpduLayout::Run& run) {
    View octets = staged.subspan(run.offset, run.size);
    if (run.marker) {
      std::copy(octets.begin(), octets.end(), markers_[run.marker_index].begin());
      return;
    }
    if (run.offset + run.size <= payload_offset) return;
    if (run.offset < payload_offset) octets = octets.subspan(payload_offset - run.offset);
    for (const Span to : bytes::slice(target_, target_done_, octets.size())) {
      bytes::begin_touch();
      bytes::place_copy(to, octets.first(to.size()));
      bytes::end_touch();
      octets = octets.subspan(to.size());
      target_done_ += to.size();
    }
  });
  return target_done_;
}

void Placement::abandon() {
  scratch_.resize(bytes::total_size(target_) - target_done_);
  target_.clear();
  target_.push_back(scratch_);
  target_done_ = 0;
}

void Placement::arrived(View memory) {
  // The CRC covers markers as well. [MPA-44]
  if (check_crc_) {
    bytes::begin_touch();
    crc_ = crc32c::extend(crc_, memory);
    bytes::end_touch();
  }
  layout_.walk(arrived_, arrived_ + memory.size(), [this](const FpduLayout::Run& run) {
    if (!run.marker) target_done_ += run.size;
  });
  arrived_ += memory.size();
}

}  // namespace iwarp::mpa
