// SPDX-License-Identifier: Apache-2.0
// Collects what a StreamDecoder reports, so that tests can examine it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "iwarp/trace/stream_decoder.hpp"
#include "wire_script.hpp"

namespace iwarp::test {

using Octets = std::vector<std::byte>;

/// A copy of a Frame that owns its octets.
struct Found {
  trace::Frame frame;  ///< its views are invalid after the callback, so tests use the copies below
  Octets octets;
  Octets ulpdu;
  std::string why;
};

class Observer {
 public:
  explicit Observer(const trace::DecoderOptions& options = {})
      : decoder([this](const trace::Frame& frame) { add(frame); }, options) {}
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  void see(bool outbound, bytes::View octets) {
    decoder.octets(outbound ? trace::Side::kNear : trace::Side::kFar, octets);
  }
  /// Passes the octets in pieces of `piece` octets.
  void see_pieces(bool outbound, bytes::View octets, std::size_t piece) {
    for (std::size_t at = 0; at < octets.size(); at += piece) {
      see(outbound, octets.subspan(at, std::min(piece, octets.size() - at)));
    }
  }
  void see(const WireScript& script) {
    for (const auto& sent : script.sent) see(sent.outbound, sent.octets);
  }
  /// Returns all octets reported for `side`, reassembled.
  Octets stream(trace::Side side) const {
    Octets out;
    for (const auto& f : found) {
      if (f.frame.from == side) out.insert(out.end(), f.octets.begin(), f.octets.end());
    }
    return out;
  }
  std::size_t count(trace::FrameKind kind) const {
    std::size_t n = 0;
    for (const auto& f : found) n += f.frame.kind == kind ? 1 : 0;
    return n;
  }
  std::size_t count(trace::CrcVerdict verdict) const {
    std::size_t n = 0;
    for (const auto& f : found) {
      n += f.frame.kind == trace::FrameKind::kFpdu && f.frame.crc == verdict ? 1 : 0;
    }
    return n;
  }

  trace::StreamDecoder decoder;
  std::vector<Found> found;

 private:
  void add(const trace::Frame& frame) {
    found.push_back({frame,
                     {frame.octets.begin(), frame.octets.end()},
                     {frame.ulpdu.begin(), frame.ulpdu.end()},
                     frame.why});
  }
};

/// Returns the octets of one side of a script, in order.
inline Octets stream_of(const WireScript& script, bool outbound) {
  Octets out;
  for (const auto& sent : script.sent) {
    if (sent.outbound == outbound) {
      out.insert(out.end(), sent.octets.begin(), sent.octets.end());
    }
  }
  return out;
}

}  // namespace iwarp::test
