// SPDX-License-Identifier: Apache-2.0
// Reader and Writer: sticky cursors for big-endian wire fields. A codec lists its fields in RFC
// order and calls ok() once, at the end. After the first field that does not fit, every later read
// returns 0 and every later write does nothing; no octet outside the given range is ever accessed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "iwarp/bytes/view.hpp"

namespace iwarp::bytes {

/// The types of the integers in wire formats.
template <typename T>
concept WireInteger = std::is_unsigned_v<T>;

/// Converts an integer from host byte order to kOrder, or back.
template <std::endian kOrder, WireInteger T>
constexpr T reorder(T value) {
  return std::endian::native == kOrder ? value : std::byteswap(value);
}

/// Returns the big-endian integer in the sizeof(T) octets at `from`, which need no alignment.
template <WireInteger T>
constexpr T load_be(const std::byte* from) {
  std::array<std::byte, sizeof(T)> octets;
  std::copy_n(from, sizeof(T), octets.begin());
  return reorder<std::endian::big>(std::bit_cast<T>(octets));
}

/// Writes `value` big-endian to the sizeof(T) octets at `to`, which need no alignment.
template <WireInteger T>
constexpr void store_be(std::byte* to, T value) {
  const auto octets =
      std::bit_cast<std::array<std::byte, sizeof(T)>>(reorder<std::endian::big>(value));
  std::copy_n(octets.begin(), sizeof(T), to);
}

/// Copies `from` to `to`. The two ranges must not overlap. Lengths of 8 to 32 octets, which most
/// headers have, are copied without a function call.
inline void copy_short(std::byte* to, View from) {
  const auto copy_ends = [to, from]<std::size_t kOctets>() {
    std::memcpy(to, from.data(), kOctets);
    std::memcpy(to + from.size() - kOctets, from.data() + from.size() - kOctets, kOctets);
  };
  if (from.size() >= 16 && from.size() <= 32) {
    copy_ends.template operator()<16>();
  } else if (from.size() >= 8 && from.size() < 16) {
    copy_ends.template operator()<8>();
  } else {
    std::copy(from.begin(), from.end(), to);
  }
}

/// Reads fields from `in`, which must outlive the Reader. Not thread-safe.
class Reader {
 public:
  constexpr explicit Reader(View in) : in_(in) {}

  /// Read the next big-endian integer. Return 0 if fewer octets remain than the integer has.
  constexpr std::uint8_t u8() { return integer<std::uint8_t>(); }
  constexpr std::uint16_t u16() { return integer<std::uint16_t>(); }
  constexpr std::uint32_t u32() { return integer<std::uint32_t>(); }
  constexpr std::uint64_t u64() { return integer<std::uint64_t>(); }

  /// Returns the next `n` octets as a view into the input, or an empty view if fewer remain.
  constexpr View take(std::size_t n) {
    if (!advance(n)) return {};
    return in_.subspan(at_ - n, n);
  }
  /// Skips the next `n` octets.
  constexpr void skip(std::size_t n) { advance(n); }

  /// Returns whether every field so far was inside the input.
  constexpr bool ok() const { return ok_; }
  /// Returns how many octets have been read or skipped.
  constexpr std::size_t position() const { return at_; }
  /// Returns how many octets have not been read; 0 if not ok().
  constexpr std::size_t remaining() const { return ok_ ? in_.size() - at_ : 0; }
  /// Returns the octets that have not been read; empty if not ok().
  constexpr View rest() const { return ok_ ? in_.subspan(at_) : View{}; }

 private:
  template <WireInteger T>
  constexpr T integer() {
    if (!advance(sizeof(T))) return 0;
    return load_be<T>(in_.data() + at_ - sizeof(T));
  }
  constexpr bool advance(std::size_t n) {
    ok_ = ok_ && n <= in_.size() - at_;
    if (ok_) at_ += n;
    return ok_;
  }

  View in_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

/// Writes fields to `out`, which must outlive the Writer. Not thread-safe.
class Writer {
 public:
  constexpr explicit Writer(Span out) : out_(out) {}

  /// Writes an integer big-endian.
  constexpr void u8(std::uint8_t v) { integer(v); }
  /// Writes an integer big-endian.
  constexpr void u16(std::uint16_t v) { integer(v); }
  /// Writes an integer big-endian.
  constexpr void u32(std::uint32_t v) { integer(v); }
  /// Writes an integer big-endian.
  constexpr void u64(std::uint64_t v) { integer(v); }
  /// Writes `octets`.
  void put(View octets) {
    if (advance(octets.size()) && !octets.empty()) {
      std::memcpy(out_.data() + at_ - octets.size(), octets.data(), octets.size());
    }
  }
  /// Returns the next `n` octets of the output for the caller to write, or an empty span if there
  /// is no room for all of them.
  constexpr Span take(std::size_t n) {
    if (!advance(n)) return {};
    return out_.subspan(at_ - n, n);
  }
  /// Writes `n` octets of zero.
  constexpr void zeros(std::size_t n) {
    if (!advance(n)) return;
    for (std::size_t i = at_ - n; i < at_; ++i) out_[i] = std::byte{0};
  }

  /// Returns whether every field so far fitted.
  constexpr bool ok() const { return ok_; }
  /// Return how many octets have been written so far, and a view of these octets.
  constexpr std::size_t size() const { return at_; }
  constexpr View written() const { return out_.first(at_); }

 private:
  template <WireInteger T>
  constexpr void integer(T v) {
    if (advance(sizeof(T))) store_be(out_.data() + at_ - sizeof(T), v);
  }
  constexpr bool advance(std::size_t n) {
    ok_ = ok_ && n <= out_.size() - at_;
    if (ok_) at_ += n;
    return ok_;
  }

  Span out_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace iwarp::bytes
