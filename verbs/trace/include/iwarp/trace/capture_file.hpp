// SPDX-License-Identifier: Apache-2.0
// CaptureFile: a pcap file for Wireshark and tshark, to which the taps of any number of connections
// write. Writing it needs no privilege, because taps make up the packets around the octets that the
// connections send and receive. Each packet is passed to the kernel in one system call, so the file
// contains only whole packets even if the process is killed. Thread-safe.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <string>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup_types.hpp"

namespace iwarp::trace {

/// Receives captured packets.
class PacketSink {
 public:
  virtual ~PacketSink() = default;
  /// Stores an Ethernet packet of at most kMaxPacket octets.
  virtual void write(bytes::View packet, mpa::TimePoint now) = 0;

  static constexpr std::size_t kMaxPacket = 65536 + 256;
};

/// The same moment on two clocks. Taps use the steady clock, and captures use the time of day. A
/// file converts one to the other with this pair.
struct CaptureClock {
  std::chrono::system_clock::time_point wall{};
  mpa::TimePoint steady{};
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

  /// Returns one line that describes the first failed write, after which nothing more is written.
  /// Returns an empty string if all writes have succeeded.
  std::string error() const;

 private:
  struct State;
  explicit CaptureFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iwarp::trace
