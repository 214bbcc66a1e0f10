// SPDX-License-Identifier: Apache-2.0
// Collects what a StreamDecoder reports, so that tests can examine it, and a clock for the tests of
// trace files.
#pragma once

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "iwarp/trace/capture_file.hpp"
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
  explicit Observer(const WireScript& script) : Observer() { see(script); }
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
  /// Passes the first `frames` frames of the script.
  void see(const WireScript& script, std::size_t frames = SIZE_MAX) {
    for (std::size_t i = 0; i < std::min(frames, script.sent.size()); ++i) {
      see(script.sent[i].outbound, script.sent[i].octets);
    }
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

/// An Observer of a stream that may begin in the middle or have holes.
struct Searching : Observer {
  Searching() : Observer({.search = true}) {}
  /// Begins with the startup frames of the script.
  explicit Searching(const WireScript& script) : Searching() { see(script, 2); }
  /// Checks that all octets of the near end were reported once, in order. Returns their number.
  std::uint64_t near_octets() const {
    std::uint64_t next = 0;
    for (const auto& f : found) {
      CHECK(f.frame.offset == (f.frame.from == trace::Side::kNear ? next : 0));
      if (f.frame.from != trace::Side::kNear) continue;
      next += f.octets.empty() ? f.frame.missing : f.octets.size();
    }
    return next;
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

inline const trace::CaptureClock kClock{
    .wall = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000)),
    .steady = mpa::TimePoint(std::chrono::seconds(50))};

/// Calls `write` while no file may grow beyond `size` octets.
template <typename Write>
void with_file_limit(rlim_t size, Write write) {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{.rlim_cur = size, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  write();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

inline mpa::TimePoint later(int nanos) { return kClock.steady + std::chrono::nanoseconds(nanos); }

}  // namespace iwarp::test
