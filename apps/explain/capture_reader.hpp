// SPDX-License-Identifier: Apache-2.0
// CaptureReader: the packets of a pcap or pcapng file, or of a pipe, through libpcap. Reads once
// from the beginning to the end, and holds one packet.
#pragma once

#include <cstdint>
#include <cstdio>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "iwarp/bytes/view.hpp"

namespace iwarp::apps::explain {

class CaptureReader {
 public:
  struct Packet {
    bytes::View octets;            ///< valid until the next packet
    std::size_t wire_size = 0;     ///< before the capture cut it
    std::int64_t nanoseconds = 0;  ///< since 1970
  };

  /// Takes ownership of the file. `name` is for messages. Fails with a line that names the file and
  /// what is wrong with it.
  static std::expected<CaptureReader, std::string> read(std::FILE* file, const std::string& name);

  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;
  ~CaptureReader();

  /// Returns the next packet; nullopt at the end of what can be read, see error().
  std::optional<Packet> next();
  /// Returns the link type of all packets, a number of https://www.tcpdump.org/linktypes.html.
  int link_type() const;
  /// Returns why the file cannot be read any further; empty: it can.
  const std::string& error() const;

 private:
  struct State;
  explicit CaptureReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iwarp::apps::explain
