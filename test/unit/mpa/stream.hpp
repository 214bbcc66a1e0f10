// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of the MPA data path: a reference encoder, and loops that carry octets from
// a Framer through a vector to a Deframer. The encoder writes a stream octet by octet, following
// the text of RFC 5044 sections 4.1 to 4.4, and makes deliberate errors on request.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/deframer.hpp"
#include "iwarp/mpa/faults.hpp"
#include "iwarp/mpa/framer.hpp"

namespace iwarp::test {

using bytes::Span;
using bytes::View;
using Octets = std::vector<std::byte>;

inline Octets random_octets(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  Octets octets(size);
  for (auto& octet : octets) octet = static_cast<std::byte>(random() & 0xFF);
  return octets;
}

inline void append(Octets& to, View octets) { to.insert(to.end(), octets.begin(), octets.end()); }

inline Octets join(std::span<const View> pieces) {
  Octets all;
  for (const View piece : pieces) append(all, piece);
  return all;
}

/// How the reference encoder deviates in one FPDU. The defaults produce a valid FPDU.
struct Oddities {
  std::byte pad{0};
  std::uint16_t reserved = 0;   ///< value of the reserved half of every marker
  std::uint16_t low_bits = 0;   ///< value of the low two bits of every FPDUPTR
  std::uint16_t wrong_ptr = 0;  ///< number added to every FPDUPTR
};

/// Encodes a stream that begins at octet `position` of full operation.
class ReferenceStream {
 public:
  ReferenceStream(bool markers, bool crc, std::uint64_t position = 0)
      : markers_(markers), crc_(crc), position_(position) {}

  ReferenceStream& fpdu(View ulpdu, const Oddities& odd = {}) {
    odd_ = odd;
    covered_.clear();
    start_.reset();
    put(static_cast<std::byte>(ulpdu.size() >> 8));
    put(static_cast<std::byte>(ulpdu.size() & 0xFF));
    for (const std::byte octet : ulpdu) put(octet);
    for (std::size_t n = ulpdu.size() + 2; n % 4 != 0; ++n) put(odd.pad);
    marker_if_due();
    const std::uint32_t crc = crc_ ? crc32c::compute(covered_) : 0;
    for (int i = 0; i < 4; ++i) raw(static_cast<std::byte>(crc >> (8 * i)));
    return *this;
  }
  const Octets& octets() const { return octets_; }
  std::uint64_t position() const { return position_; }

 private:
  void put(std::byte octet) {
    marker_if_due();
    if (!start_) start_ = position_;
    covered_.push_back(octet);
    raw(octet);
  }
  void marker_if_due() {
    if (!markers_ || position_ % 512 != 0) return;
    const auto distance = static_cast<std::uint16_t>(start_ ? position_ - *start_ : 0);
    const auto ptr = static_cast<std::uint16_t>((distance + odd_.wrong_ptr) | odd_.low_bits);
    for (const std::uint16_t half : {odd_.reserved, ptr}) {
      for (const int shift : {8, 0}) {
        covered_.push_back(static_cast<std::byte>(half >> shift));
        raw(covered_.back());
      }
    }
  }
  void raw(std::byte octet) {
    octets_.push_back(octet);
    ++position_;
  }

  bool markers_;
  bool crc_;
  std::uint64_t position_;
  Oddities odd_;
  std::optional<std::uint64_t> start_;
  Octets covered_;
  Octets octets_;
};

/// Copies at most `most` octets into the receive plan of `deframer`. Returns how many octets it
/// copied.
inline std::size_t fill(mpa::Deframer& deframer, View octets, std::size_t most,
                        bool read_ahead = true) {
  const View offer = octets.first(std::min(most, octets.size()));
  std::size_t n = 0;
  for (const Span piece : deframer.plan(read_ahead)) {
    const std::size_t take = std::min(piece.size(), offer.size() - n);
    if (take != 0) std::memcpy(piece.data(), offer.data() + n, take);
    n += take;
  }
  deframer.filled(n);
  return n;
}

/// The ULPDUs that a deframer returned, and its fault if there was one.
struct Received {
  std::vector<Octets> ulpdus;
  std::optional<bytes::Fault> fault;
};

/// Consumes every complete ULPDU. Returns at kPartial without placing payload.
inline void drain(mpa::Deframer& deframer, Received& into, std::size_t want_prefix = 18) {
  while (!into.fault) {
    const auto step = deframer.next(want_prefix);
    if (!step) {
      into.fault = step.error();
      return;
    }
    if (*step == mpa::Step::kNeedMore) return;
    if (*step == mpa::Step::kPartial) continue;
    into.ulpdus.push_back(join(deframer.ulpdu()));
    deframer.consume();
  }
}

/// Feeds all of `octets` to the deframer, next_cut() octets at a time.
template <typename NextCut>
Received receive_all(mpa::Deframer& deframer, View octets, NextCut next_cut) {
  Received received;
  while (!octets.empty() && !received.fault) {
    octets = octets.subspan(fill(deframer, octets, next_cut()));
    drain(deframer, received);
  }
  return received;
}

/// Removes all queued octets from a framer, at most `cut` at a time.
inline Octets send_all(mpa::Framer& framer, std::size_t cut = static_cast<std::size_t>(-1)) {
  Octets all;
  while (framer.queued_octets() != 0) {
    const Octets queued = join(framer.plan(1024));
    const std::size_t n = std::min(cut, queued.size());
    append(all, View(queued).first(n));
    framer.sent(n);
  }
  return all;
}

}  // namespace iwarp::test
