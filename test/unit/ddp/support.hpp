// SPDX-License-Identifier: Apache-2.0
// Helpers for the DDP tests: functions that build a segment from its fields, and a Sink that
// returns scripted answers and records its calls. The Sink checks nothing itself.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/bytes/hex.hpp"
#include "iwarp/ddp/receiver.hpp"
#include "iwarp/ddp/segment_header.hpp"

namespace iwarp::bytes {
// For doctest's failure messages.
inline doctest::String toString(const Fault& fault) { return to_string(fault).c_str(); }
}  // namespace iwarp::bytes

namespace iwarp::ddp::test {

using Octets = std::vector<std::byte>;
using Log = std::vector<std::string>;

inline Octets hex(const std::string& text) { return bytes::from_hex(text).value(); }

inline Octets pattern(std::size_t size, unsigned seed = 1) {
  Octets out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>((i * 7 + seed) & 0xFF);
  return out;
}

/// Returns a segment as sent on the wire: its header, then its payload.
inline Octets segment(const SegmentHeader& header, bytes::View payload = {}) {
  Octets out(header.size());
  bytes::Writer writer{bytes::Span(out)};
  encode(header, writer);
  REQUIRE(writer.ok());
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

inline SegmentHeader tagged(std::uint32_t stag, std::uint64_t to, bool last = true) {
  return {.tagged = true, .last = last, .rsvd_ulp = 0x40, .stag = Stag{stag}, .to = {to}};
}
inline SegmentHeader untagged(Qn qn, std::uint32_t msn, std::uint32_t mo = 0, bool last = true) {
  return {.last = last, .rsvd_ulp = 0x43, .qn = qn, .msn = Msn{msn}, .mo = mo};
}

class ScriptedSink {
 public:
  // Scripted answers.
  std::optional<Fault> refuse_admission;
  std::optional<Fault> refuse_target;
  std::optional<Fault> refuse_buffer;
  std::optional<Fault> refuse_delivery;
  bytes::Scatter tagged_memory;  ///< memory of every STag; its first octet has TO 0
  bytes::Scatter buffer;

  // Recorded calls.
  Log log;
  struct Delivered {
    SegmentHeader header;
    std::uint32_t length = 0;
  };
  std::vector<Delivered> deliveries;

  bytes::Check admit(const SegmentHeader&) {
    log.emplace_back("admit");
    if (refuse_admission) return bytes::fault(*refuse_admission);
    return {};
  }
  bytes::Check tagged_target(const SegmentHeader& header, std::uint32_t length,
                             bytes::Scatter& target) {
    log.push_back(fmt::format("target {:08x} {:x} {}", header.stag.value, header.to.value, length));
    if (refuse_target) return bytes::fault(*refuse_target);
    target = bytes::slice(tagged_memory, header.to.value, length);
    return {};
  }
  bytes::Check untagged_buffer(const SegmentHeader& first, UntaggedBuffer& out) {
    log.push_back(fmt::format("buffer {} {}", first.qn, first.msn.value));
    if (refuse_buffer) return bytes::fault(*refuse_buffer);
    out = {.pieces = buffer, .ready = true};
    return {};
  }
  bytes::Check deliver(const Delivery& delivery) {
    log.push_back(fmt::format("deliver {}", delivery.length));
    if (refuse_delivery) return bytes::fault(*refuse_delivery);
    deliveries.push_back({delivery.header, delivery.length});
    return {};
  }

  Log take_log() { return std::exchange(log, {}); }
};

/// Feeds whole segments to a receiver that uses `sink`. Places payload where begin() says, as every
/// user of the receiver must.
struct Bench {
  ScriptedSink sink;
  Receiver receiver;

  bytes::Check feed(const Octets& octets) {
    const auto arrival = begin(octets);
    if (!arrival) return bytes::fault(arrival.error());
    REQUIRE_FALSE(arrival->hold);
    place(octets, *arrival);
    return receiver.end(sink);
  }
  bytes::Result<Arrival> begin(const Octets& octets) {
    const auto prefix = std::min(octets.size(), kUntaggedHeaderSize);
    const auto begun = receiver.begin(sink, bytes::View(octets).first(prefix), octets.size());
    if (!begun) return bytes::fault(begun.error());
    return receiver.arrival();
  }
  static void place(bytes::View octets, const Arrival& arrival) {
    REQUIRE(bytes::total_size(arrival.target) == arrival.length);
    REQUIRE(octets.size() == arrival.header.size() + arrival.length);
    auto from = octets.subspan(arrival.header.size()).begin();
    for (const auto& piece : arrival.target) {
      std::copy_n(from, piece.size(), piece.begin());
      from += static_cast<std::ptrdiff_t>(piece.size());
    }
  }
};

/// Returns the fault of a bytes::Result or bytes::Check, or nullopt.
template <typename Outcome>
std::optional<Fault> fault_of(const Outcome& result) {
  if (result) return std::nullopt;
  return result.error();
}

}  // namespace iwarp::ddp::test
