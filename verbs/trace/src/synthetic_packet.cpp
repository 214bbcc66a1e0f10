// SPDX-License-Identifier: Apache-2.0
// Writes Ethernet and IP headers, with addresses that differ between the two ends, and computes
// checksums of IP, TCP and UDP.
#include "synthetic_packet.hpp"

namespace iwarp::trace::synthetic {
namespace {

using bytes::View;
using bytes::Writer;

constexpr std::size_t kEthernetSize = 14;
constexpr std::uint8_t kTtl = 64;

/// Adds `octets` to the ones' complement sum of RFC 1071 and returns the sum, which the caller
/// still has to complement.
std::uint32_t add_words(std::uint32_t sum, View octets) {
  std::uint64_t total = sum;
  for (std::size_t i = 0; i + 1 < octets.size(); i += 2) {
    total += bytes::load_be<std::uint16_t>(octets.data() + i);
  }
  if (octets.size() % 2 != 0) total += std::to_integer<std::uint64_t>(octets.back()) << 8;
  while (total > 0xFFFF) total = (total & 0xFFFF) + (total >> 16);
  return static_cast<std::uint32_t>(total);
}

std::uint16_t complement(std::uint32_t sum) { return static_cast<std::uint16_t>(~sum & 0xFFFF); }

View octets_of(const IpAddress& address) { return View(address.octets).first(address.v6 ? 16 : 4); }

/// Writes a locally administered MAC address whose last octet differs between the two ends.
void put_mac(Writer& out, bool near) {
  out.u8(0x02);
  out.zeros(4);
  out.u8(near ? 1 : 2);
}

}  // namespace

Writer begin_packet(std::vector<std::byte>& packet, const Addresses& addresses,
                    std::uint8_t protocol, std::size_t size, std::uint16_t id) {
  const bool v6 = addresses.from.v6;
  packet.resize(kEthernetSize + (v6 ? 40 : 20) + size);
  Writer out(packet);
  put_mac(out, !addresses.from_near);
  put_mac(out, addresses.from_near);
  out.u16(v6 ? 0x86DD : 0x0800);
  if (v6) {
    out.u32(0x60000000);
    out.u16(static_cast<std::uint16_t>(size));
    out.u8(protocol);
    out.u8(kTtl);
  } else {
    out.u16(0x4500);
    out.u16(static_cast<std::uint16_t>(20 + size));
    out.u16(id);
    out.u16(0x4000);  // do not fragment
    out.u8(kTtl);
    out.u8(protocol);
    out.u16(0);
  }
  out.put(octets_of(addresses.from));
  out.put(octets_of(addresses.to));
  if (!v6) {
    const View header = out.written().subspan(kEthernetSize);
    bytes::store_be(packet.data() + kEthernetSize + 10, complement(add_words(0, header)));
  }
  return out;
}

std::uint16_t checksum(const Addresses& addresses, std::uint8_t protocol, View segment) {
  auto sum = static_cast<std::uint32_t>(protocol + segment.size());
  sum = add_words(sum, octets_of(addresses.from));
  sum = add_words(sum, octets_of(addresses.to));
  return complement(add_words(sum, segment));
}

}  // namespace iwarp::trace::synthetic
