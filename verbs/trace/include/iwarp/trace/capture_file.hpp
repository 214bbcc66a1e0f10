// SPDX-License-Identifier: Apache-2.0
// CaptureFile: a pcap file that Wireshark and tshark open, shared by the taps of any number of
// connections. Needs no privilege: its packets are made up around the octets that were sent. Each
// packet is handed to the system as soon as it is written, so that the file is whole whenever the
// process dies. Thread-safe.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <string>

#include "iwarp/trace/packet_sink.hpp"

namespace iwarp::trace {

/// Two readings of the same moment: taps use steady time, captures show the time of day.
struct CaptureClock {
  std::chrono::system_clock::time_point wall;
  mpa::TimePoint steady;
};

/// A pcap file to which the taps of any number of connections write. Thread-safe.
class CaptureFile final : public PacketSink {
 public:
  /// Creates or empties the file at `path`. On failure returns one line that says what went wrong
  /// and where.
  static std::expected<std::shared_ptr<CaptureFile>, std::string> create(const std::string& path,
                                                                         const CaptureClock& clock);
  ~CaptureFile() override;
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;

  /// Writes nothing more after the first failure.
  void write(bytes::View packet, mpa::TimePoint now) override;

  /// Returns an empty string while all writes succeed, afterwards one line: the capture ends at the
  /// failure.
  std::string error() const;

 private:
  struct State;
  explicit CaptureFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iwarp::trace
