// SPDX-License-Identifier: Apache-2.0
// CaptureReader: the packets of a pcap or pcapng file, or of a pipe, through libpcap. Reads from
// the beginning to the end once and keeps one packet.
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
    bytes::View octets;            ///< valid until the next one
    std::size_t wire_size = 0;     ///< what it had before the capture cut it
    std::int64_t nanoseconds = 0;  ///< since 1970
  };

  /// Takes the file over. `name` is for messages. Error: one line that says what is wrong and with
  /// which file.
  static std::expected<CaptureReader, std::string> read(std::FILE* file, const std::string& name);

  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;
  ~CaptureReader();

  /// nullopt at the end of what can be read; see error().
  std::optional<Packet> next();
  /// Of all packets; a number of https://www.tcpdump.org/linktypes.html.
  int link_type() const;
  /// Empty, or why the file cannot be read any further.
  const std::string& error() const;

 private:
  struct State;
  explicit CaptureReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iwarp::apps::explain
