// SPDX-License-Identifier: Apache-2.0
// CaptureTap: writes one connection into a PacketSink, as a TCP connection with made-up Ethernet,
// IP and TCP headers: handshake, true sequence and acknowledgement numbers, checksums, FIN or RST.
// A TCP segment holds exactly one MPA frame wherever it fits, however TCP really cut the stream,
// because only so does tshark read marked streams. Frames are written when they are complete.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/trace/endpoint.hpp"
#include "iwarp/trace/ip_address.hpp"
#include "iwarp/trace/packet_sink.hpp"
#include "iwarp/trace/stream_decoder.hpp"
#include "iwarp/verbs/wire_tap.hpp"

namespace iwarp::trace {

/// The addresses of the connection. Addresses that are not numeric are shown as 192.0.2.1 and
/// 192.0.2.2; if one end has an IPv4 and the other an IPv6 address, the former is shown as
/// IPv4-mapped.
struct CaptureEnds {
  Endpoint near;  ///< the end that is tapped
  Endpoint far;
  bool near_opened = true;  ///< near sent the SYN
};

/// Writes one connection into a PacketSink, as packets of a made-up TCP connection. Called under
/// the lock of the connection, like every WireTap.
class CaptureTap final : public verbs::WireTap {
 public:
  /// Connections in one file need distinct ports.
  CaptureTap(std::shared_ptr<PacketSink> file, const CaptureEnds& ends);
  /// Writes the octets of a frame that never became complete, too.
  ~CaptureTap() override;

  void octets(bool outbound, bytes::View octets, mpa::TimePoint now) override;
  void closed(bool outbound, bool reset, mpa::TimePoint now) override;

  /// Largest TCP payload in the file; a longer frame takes several segments.
  static constexpr std::size_t kMaxSegment = 65483;

 private:
  struct End {
    IpAddress address;
    std::uint16_t port = 0;
    std::uint32_t next = 0;  ///< sequence number of its next octet
    bool finished = false;   ///< it sent FIN or RST
  };

  static IpAddress parse(const std::string& host, std::byte stand_in);
  static void agree_on_family(IpAddress& a, IpAddress& b);

  End& end(Side side) { return ends_[static_cast<std::size_t>(side)]; }
  void open();
  void data(const Frame& frame);
  void segment(Side from, std::uint8_t flags, bytes::View payload);
  void put_tcp_header(bytes::Writer& out, const End& from, const End& to, std::uint8_t flags);

  std::shared_ptr<PacketSink> file_;
  std::array<End, 2> ends_;
  Side opener_;
  bool open_ = false;
  bool reset_ = false;
  std::uint16_t ip_id_ = 0;
  mpa::TimePoint now_;
  std::vector<std::byte> packet_;
  StreamDecoder decoder_;
};

}  // namespace iwarp::trace
