// SPDX-License-Identifier: Apache-2.0
// Makes up the TCP segments around the tapped octets (RFC 9293).
#include "iwarp/trace/capture_tap.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <string>
#include <utility>

#include "iwarp/bytes/cursor.hpp"
#include "synthetic_packet.hpp"

namespace iwarp::trace {
namespace {

using bytes::View;
using bytes::Writer;

constexpr std::uint8_t kFin = 0x01;
constexpr std::uint8_t kSyn = 0x02;
constexpr std::uint8_t kRst = 0x04;
constexpr std::uint8_t kPsh = 0x08;
constexpr std::uint8_t kAck = 0x10;

constexpr std::size_t kTcpSize = 20;
constexpr std::size_t kSynOptionsSize = 8;
/// The receive window of each end. With a scale of 2^14 it is so large that no reader of the
/// capture concludes that the window was full.
constexpr std::uint16_t kWindow = 0xFFFF;
constexpr std::uint8_t kWindowScale = 14;
constexpr std::uint32_t kNearStart = 0x10000000;
constexpr std::uint32_t kFarStart = 0x20000000;

}  // namespace

std::string to_string(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(address.v6 ? AF_INET6 : AF_INET, address.octets.data(), text.data(), text.size());
  return text.data();
}

CaptureTap::CaptureTap(std::shared_ptr<PacketSink> file, const CaptureEnds& ends)
    : file_(std::move(file)),
      opener_(ends.near_opened ? Side::kNear : Side::kFar),
      decoder_([this](const Frame& frame) { data(frame); }) {
  end(Side::kNear) = {
      .address = parse(ends.near.host, std::byte{1}), .port = ends.near.port, .next = kNearStart};
  end(Side::kFar) = {
      .address = parse(ends.far.host, std::byte{2}), .port = ends.far.port, .next = kFarStart};
  agree_on_family(end(Side::kNear).address, end(Side::kFar).address);
}

CaptureTap::~CaptureTap() {
  decoder_.ended(Side::kNear);
  decoder_.ended(Side::kFar);
}

void CaptureTap::octets(bool outbound, View octets, mpa::TimePoint now) {
  now_ = now;
  if (!open_) open();
  decoder_.octets(outbound ? Side::kNear : Side::kFar, octets);
}

void CaptureTap::closed(bool outbound, bool reset, mpa::TimePoint now) {
  now_ = now;
  if (!open_) open();
  const Side from = outbound ? Side::kNear : Side::kFar;
  decoder_.ended(from);
  if (end(from).finished || reset_) return;
  segment(from, static_cast<std::uint8_t>((reset ? kRst : kFin) | kAck), {});
  end(from).finished = true;
  reset_ = reset;
  if (reset) return;
  ++end(from).next;  // A FIN counts as an octet.
  if (end(other(from)).finished) segment(other(from), kAck, {});
}

void CaptureTap::open() {
  open_ = true;
  const Side acceptor = other(opener_);
  segment(opener_, kSyn, {});
  ++end(opener_).next;  // A SYN counts as an octet.
  segment(acceptor, kSyn | kAck, {});
  ++end(acceptor).next;
  segment(opener_, kAck, {});
}

void CaptureTap::data(const Frame& frame) {
  View rest = frame.octets;
  while (!rest.empty()) {
    const View piece = rest.first(std::min(rest.size(), kMaxSegment));
    segment(frame.from, kPsh | kAck, piece);
    end(frame.from).next += static_cast<std::uint32_t>(piece.size());
    rest = rest.subspan(piece.size());
  }
}

/// Writes one packet that `side` sends, with the current sequence number of that side.
void CaptureTap::segment(Side side, std::uint8_t flags, View payload) {
  const End& from = end(side);
  const End& to = end(other(side));
  const std::size_t tcp_size = kTcpSize + ((flags & kSyn) != 0 ? kSynOptionsSize : 0);
  const synthetic::Addresses addresses{from.address, to.address, side == Side::kNear};
  auto out = synthetic::begin_packet(packet_, addresses, synthetic::kTcp, tcp_size + payload.size(),
                                     ip_id_++);
  const std::size_t tcp_at = out.size();
  put_tcp_header(out, from, to, flags);
  out.put(payload);
  bytes::store_be(packet_.data() + tcp_at + 16,
                  synthetic::checksum(addresses, synthetic::kTcp, View(packet_).subspan(tcp_at)));
  file_->write(packet_, now_);
}

void CaptureTap::put_tcp_header(Writer& out, const End& from, const End& to, std::uint8_t flags) {
  const bool syn = (flags & kSyn) != 0;
  out.u16(from.port);
  out.u16(to.port);
  out.u32(from.next);
  out.u32((flags & kAck) != 0 ? to.next : 0);
  out.u8(static_cast<std::uint8_t>((kTcpSize + (syn ? kSynOptionsSize : 0)) / 4 << 4));
  out.u8(flags);
  out.u16(kWindow);
  out.u32(0);  // checksum, filled in last; no urgent data
  if (!syn) return;
  out.u16(0x0204);  // maximum segment size
  out.u16(kMaxSegment);
  out.u8(1);  // no operation
  out.u16(0x0303);
  out.u8(kWindowScale);
}

IpAddress CaptureTap::parse(const std::string& host, std::byte stand_in) {
  IpAddress address;
  const std::string numeric = host.substr(0, host.find('%'));  // without the IPv6 zone
  if (inet_pton(AF_INET, numeric.c_str(), address.octets.data()) == 1) return address;
  if (inet_pton(AF_INET6, numeric.c_str(), address.octets.data()) == 1) {
    address.v6 = true;
    return address;
  }
  address.octets = {std::byte{192}, std::byte{0}, std::byte{2}, stand_in};  // RFC 5737
  return address;
}

void CaptureTap::agree_on_family(IpAddress& a, IpAddress& b) {
  if (a.v6 == b.v6) return;
  IpAddress& v4 = a.v6 ? b : a;
  IpAddress mapped{.v6 = true};
  mapped.octets[10] = mapped.octets[11] = std::byte{0xFF};
  std::copy_n(v4.octets.begin(), 4, mapped.octets.begin() + 12);
  v4 = mapped;
}

}  // namespace iwarp::trace
