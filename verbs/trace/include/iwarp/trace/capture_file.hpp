// SPDX-License-Identifier: Apache-2.0
// CaptureFile: a pcap file for Wireshark and tshark, to which the taps of any number of connections
// write. It needs no privilege, because taps make up the packets around the octets that the
// connections send. Each packet is passed to the kernel at once, so that the file contains only
// whole packets even if the process is killed. Thread-safe.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <string>

#include "iwarp/trace/packet_sink.hpp"

namespace iwarp::trace {

/// The same moment on two clocks. Taps use steady time and captures the time of day; a file
/// converts between them with this pair.
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

  /// Writes one packet. After the first failure, does nothing.
  void write(bytes::View packet, mpa::TimePoint now) override;

  /// Returns one line that describes the first failed write, at which the capture ends. Returns an
  /// empty string if all writes have succeeded.
  std::string error() const;

 private:
  struct State;
  explicit CaptureFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iwarp::trace
