// SPDX-License-Identifier: Apache-2.0
// Prints an FPDU (RFC 5044 sections 4.1 to 4.4) without trusting a single octet of it.
#include "iwarp/mpa/describe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/fpdu.hpp"

namespace iwarp::mpa {
namespace {

/// Walks an FPDU and steps over the markers in its way, remembering what they say.
class Walker {
 public:
  Walker(bytes::View in, std::optional<std::uint64_t> position) : in_(in), position_(position) {}

  /// Copies the next `n` octets that are not marker to `out` (when there is one); false: truncated.
  bool pass(std::size_t n, std::byte* out = nullptr) {
    for (; n > 0; --n, ++at_) {
      if (!pass_marker() || at_ == in_.size()) return false;
      if (out) *out++ = in_[at_];
    }
    return true;
  }

  /// Steps over a marker if one is due here; false: it is truncated.
  bool pass_marker() {
    if (!position_ || (*position_ + at_) % kMarkerInterval != 0) return true;
    if (in_.size() - at_ < kMarkerSize) return false;
    const auto fpduptr = bytes::load_be<std::uint16_t>(in_.data() + at_ + 2);
    markers_ += fmt::format("{}{:04x}", markers_.empty() ? ", markers " : " ", fpduptr);
    at_ += kMarkerSize;
    return true;
  }

  std::size_t at() const { return at_; }
  const std::string& markers() const { return markers_; }

 private:
  bytes::View in_;
  std::optional<std::uint64_t> position_;
  std::size_t at_ = 0;
  std::string markers_;
};

std::string describe_crc(bytes::View covered, const std::byte* field) {
  const auto sent = load_crc(field);
  const auto right = crc32c::compute(covered);
  if (sent == right) return fmt::format(", CRC {:08x} right", sent);
  if (sent == 0) return ", CRC 00000000 (off, or wrong)";
  return fmt::format(", CRC {:08x} wrong, expected {:08x}", sent, right);
}

}  // namespace

std::string describe_fpdu(bytes::View in, std::optional<std::uint64_t> position) {
  Walker walker(in, position);
  std::byte length_field[kLengthFieldSize];
  if (!walker.pass(kLengthFieldSize, length_field)) {
    return fmt::format("MPA FPDU, truncated at {} octets, before the end of ULPDU_Length",
                       in.size());
  }
  const std::size_t ulpdu_length = bytes::load_be<std::uint16_t>(length_field);
  const auto pad = pad_size(ulpdu_length);
  auto out = fmt::format("MPA FPDU ULPDU_Length {}, pad {}", ulpdu_length, pad);

  const bool whole_content = walker.pass(ulpdu_length + pad) && walker.pass_marker();
  const auto covered = in.first(std::min(walker.at(), in.size()));
  out += walker.markers();
  if (!whole_content || in.size() - covered.size() < kCrcSize) {
    return out + fmt::format(", truncated at {} octets", in.size());
  }
  return out + describe_crc(covered, in.data() + covered.size());
}

}  // namespace iwarp::mpa
