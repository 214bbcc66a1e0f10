// SPDX-License-Identifier: Apache-2.0
// CaptureTap: writes one connection into a PacketSink, as a TCP connection with made-up Ethernet,
// IP and TCP headers. The packets include a handshake, correct sequence numbers, acknowledgement
// numbers and checksums, and a FIN or RST. Each TCP segment in the capture holds exactly one MPA
// frame if the frame fits, whatever segments TCP really sent: tshark can read a stream with markers
// only in this form. CaptureTap writes a frame when it is complete.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/trace/capture_file.hpp"
#include "iwarp/trace/ip_address.hpp"
#include "iwarp/trace/stream_decoder.hpp"
#include "iwarp/verbs/wire_tap.hpp"

namespace iwarp::trace {

/// The address and port of one end of a connection.
struct Endpoint {
  std::string host{};  ///< a numeric IPv4 or IPv6 address, without brackets
  std::uint16_t port = 0;
};

/// The addresses of the connection. The capture shows 192.0.2.1 and 192.0.2.2 for addresses that
/// are not numeric. If one end has an IPv4 address and the other an IPv6 address, the capture shows
/// the IPv4 address as IPv4-mapped.
struct CaptureEnds {
  Endpoint near{};  ///< the end that is tapped
  Endpoint far{};
  bool near_opened = true;  ///< the end `near` sent the SYN
};

/// Writes one connection into a PacketSink, as packets of a made-up TCP connection. The connection
/// holds its lock when it calls a WireTap.
class CaptureTap final : public verbs::WireTap {
 public:
  /// Connections that are written to the same file must have distinct ports.
  CaptureTap(std::shared_ptr<PacketSink> file, const CaptureEnds& ends);
  /// Writes the octets of a frame that is still incomplete.
  ~CaptureTap() override;

  void octets(bool outbound, bytes::View octets, mpa::TimePoint now) override;
  void closed(bool outbound, bool reset, mpa::TimePoint now) override;

  /// Largest TCP payload in the file; a longer frame takes several segments.
  static constexpr std::size_t kMaxSegment = 65483;

 private:
  struct End {
    IpAddress address{};
    std::uint16_t port = 0;
    std::uint32_t next = 0;  ///< sequence number of the next octet that this end sends
    bool finished = false;   ///< this end has sent FIN or RST
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
