// SPDX-License-Identifier: Apache-2.0
// CaptureReader: reads the packets of a pcap or pcapng file, or of a pipe, through libpcap. It
// reads the packets once, in order, and holds one packet at a time.
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
    bytes::View octets;            ///< the captured octets, valid until the next packet is read
    std::size_t wire_size = 0;     ///< size of the packet on the wire; `octets` may be shorter
    std::int64_t nanoseconds = 0;  ///< time of capture, in nanoseconds since 1970
  };

  /// Opens a capture and takes ownership of the file. `name` is the file's name in messages. If
  /// this fails, returns one line that names the file and says what is wrong with it.
  static std::expected<CaptureReader, std::string> read(std::FILE* file, const std::string& name);

  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;
  ~CaptureReader();

  /// Returns the next packet. Returns nullopt at the end of the file, and also if the rest of the
  /// file cannot be read; error() distinguishes the two cases.
  std::optional<Packet> next();
  /// Returns the link type of all packets, by its number in https://www.tcpdump.org/linktypes.html.
  int link_type() const;
  /// Returns why the rest of the file cannot be read. The text is empty if there was no error.
  const std::string& error() const;

 private:
  struct State;
  explicit CaptureReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iwarp::apps::explain
