// SPDX-License-Identifier: Apache-2.0
// Makes up the packets around the tapped octets (Ethernet II, RFC 791, RFC 8200, RFC 9293).
#include "iwarp/trace/capture_tap.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <string>
#include <utility>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::trace {
namespace {

using bytes::View;
using bytes::Writer;

constexpr std::uint8_t kFin = 0x01;
constexpr std::uint8_t kSyn = 0x02;
constexpr std::uint8_t kRst = 0x04;
constexpr std::uint8_t kPsh = 0x08;
constexpr std::uint8_t kAck = 0x10;

constexpr std::size_t kEthernetSize = 14;
constexpr std::size_t kTcpSize = 20;
constexpr std::size_t kSynOptionsSize = 8;
constexpr std::uint8_t kTcpProtocol = 6;
/// Scaled by 2^14, so that no reader believes the window was ever full.
constexpr std::uint16_t kWindow = 0xFFFF;
constexpr std::uint8_t kWindowScale = 14;
constexpr std::uint32_t kNearStart = 0x10000000;
constexpr std::uint32_t kFarStart = 0x20000000;

/// The ones' complement sum of RFC 1071, not yet complemented; continued from `sum`.
std::uint32_t add_words(std::uint32_t sum, View octets) {
  std::uint64_t total = sum;
  for (std::size_t i = 0; i + 1 < octets.size(); i += 2) {
    total += bytes::load_be<std::uint16_t>(octets.data() + i);
  }
  if (octets.size() % 2 != 0) total += std::to_integer<std::uint64_t>(octets.back()) << 8;
  while (total > 0xFFFF) total = (total & 0xFFFF) + (total >> 16);
  return static_cast<std::uint32_t>(total);
}

std::uint16_t checksum(std::uint32_t sum) { return static_cast<std::uint16_t>(~sum & 0xFFFF); }

/// Locally administered addresses whose last octet tells the ends apart.
void put_mac(Writer& out, bool near) {
  out.u8(0x02);
  out.zeros(4);
  out.u8(near ? 1 : 2);
}

}  // namespace

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
  ++end(from).next;  // FIN counts as an octet.
  if (end(other(from)).finished) segment(other(from), kAck, {});
}

void CaptureTap::open() {
  open_ = true;
  const Side acceptor = other(opener_);
  segment(opener_, kSyn, {});
  ++end(opener_).next;  // So does SYN.
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

/// One packet, numbered from where its sender stands.
void CaptureTap::segment(Side side, std::uint8_t flags, View payload) {
  const End& from = end(side);
  const End& to = end(other(side));
  const std::size_t ip_size = from.address.v6 ? 40 : 20;
  const std::size_t tcp_size = kTcpSize + ((flags & kSyn) != 0 ? kSynOptionsSize : 0);
  packet_.resize(kEthernetSize + ip_size + tcp_size + payload.size());
  Writer out(packet_);
  put_mac(out, side == Side::kFar);
  put_mac(out, side == Side::kNear);
  out.u16(from.address.v6 ? 0x86DD : 0x0800);
  put_ip_header(out, from, to, tcp_size + payload.size());
  put_tcp_header(out, from, to, flags);
  out.put(payload);

  // The pseudo header: addresses, protocol and length.
  const std::size_t address_size = from.address.v6 ? 16 : 4;
  const View tcp = View(packet_).subspan(kEthernetSize + ip_size);
  std::uint32_t sum = static_cast<std::uint32_t>(kTcpProtocol + tcp.size());
  sum = add_words(sum, View(from.address.octets).first(address_size));
  sum = add_words(sum, View(to.address.octets).first(address_size));
  sum = add_words(sum, tcp);
  bytes::store_be(packet_.data() + kEthernetSize + ip_size + 16, checksum(sum));
  file_->write(packet_, now_);
}

void CaptureTap::put_ip_header(Writer& out, const End& from, const End& to, std::size_t tcp_size) {
  constexpr std::uint8_t kTtl = 64;
  if (from.address.v6) {
    out.u32(0x60000000);
    out.u16(static_cast<std::uint16_t>(tcp_size));
    out.u8(kTcpProtocol);
    out.u8(kTtl);
    out.put(from.address.octets);
    out.put(to.address.octets);
    return;
  }
  const std::size_t begin = out.size();
  out.u16(0x4500);
  out.u16(static_cast<std::uint16_t>(20 + tcp_size));
  out.u16(ip_id_++);
  out.u16(0x4000);  // do not fragment
  out.u8(kTtl);
  out.u8(kTcpProtocol);
  out.u16(0);
  out.put(View(from.address.octets).first(4));
  out.put(View(to.address.octets).first(4));
  bytes::store_be(packet_.data() + begin + 10,
                  checksum(add_words(0, out.written().subspan(begin))));
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
  out.u32(0);  // checksum, put in when all else is there; no urgent data
  if (!syn) return;
  out.u16(0x0204);  // maximum segment size
  out.u16(kMaxSegment);
  out.u8(1);  // no operation
  out.u16(0x0303);
  out.u8(kWindowScale);
}

CaptureTap::Address CaptureTap::parse(const std::string& host, std::byte stand_in) {
  Address address;
  const std::string numeric = host.substr(0, host.find('%'));  // without the IPv6 zone
  if (inet_pton(AF_INET, numeric.c_str(), address.octets.data()) == 1) return address;
  if (inet_pton(AF_INET6, numeric.c_str(), address.octets.data()) == 1) {
    address.v6 = true;
    return address;
  }
  address.octets = {std::byte{192}, std::byte{0}, std::byte{2}, stand_in};  // RFC 5737
  return address;
}

void CaptureTap::agree_on_family(Address& a, Address& b) {
  if (a.v6 == b.v6) return;
  Address& v4 = a.v6 ? b : a;
  Address mapped{.v6 = true};
  mapped.octets[10] = mapped.octets[11] = std::byte{0xFF};
  std::copy_n(v4.octets.begin(), 4, mapped.octets.begin() + 12);
  v4 = mapped;
}

}  // namespace iwarp::trace
