// SPDX-License-Identifier: Apache-2.0
// Reads capture files of TCP over IPv4 or IPv6 on Ethernet with libpcap. Checks every checksum and
// reassembles the byte stream of each connection. Throws on any other packet, except ARP.
#pragma once

#include <pcap/pcap.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::test {

inline constexpr unsigned kTcpFin = 0x01, kTcpSyn = 0x02, kTcpRst = 0x04, kTcpAck = 0x10;

struct TcpPacket {
  std::int64_t nanoseconds = 0;  ///< time of capture, since 1970
  unsigned ip_version = 0;
  std::vector<std::byte> source, destination;
  std::uint16_t source_port = 0, destination_port = 0;
  std::uint32_t seq = 0, ack = 0;
  unsigned flags = 0;
  std::vector<std::byte> payload;
  bool checksums_good = false;
};

/// Computes the checksum of RFC 1071. Returns 0 if `octets` include their own checksum and it is
/// correct.
inline std::uint16_t internet_checksum(std::span<const std::byte> octets, std::uint32_t sum = 0) {
  for (std::size_t i = 0; i < octets.size(); ++i) {
    sum += std::to_integer<std::uint32_t>(octets[i]) << (i % 2 == 0 ? 8 : 0);
    sum = (sum & 0xFFFF) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(~sum & 0xFFFF);
}

inline TcpPacket parse_packet(std::span<const std::byte> ethernet) {
  const auto copy = [](bytes::View v) { return std::vector<std::byte>(v.begin(), v.end()); };
  TcpPacket p;
  bytes::Reader in(ethernet);
  in.skip(12);
  const auto type = in.u16();
  bytes::View tcp;
  if (type == 0x0800) {
    const bytes::View ip = in.rest();
    p.ip_version = std::to_integer<unsigned>(ip[0]) >> 4;
    const std::size_t header = (std::to_integer<std::size_t>(ip[0]) & 0xF) * 4;
    const auto total = bytes::load_be<std::uint16_t>(ip.data() + 2);
    p.checksums_good = internet_checksum(ip.first(header)) == 0;
    p.source = copy(ip.subspan(12, 4));
    p.destination = copy(ip.subspan(16, 4));
    tcp = ip.subspan(header, total - header);
  } else if (type == 0x86DD) {
    const bytes::View ip = in.rest();
    p.ip_version = std::to_integer<unsigned>(ip[0]) >> 4;
    p.checksums_good = true;  // IPv6 has no header checksum.
    p.source = copy(ip.subspan(8, 16));
    p.destination = copy(ip.subspan(24, 16));
    tcp = ip.subspan(40, bytes::load_be<std::uint16_t>(ip.data() + 4));
  } else {
    throw std::runtime_error("a packet that is not IP");
  }
  std::vector<std::byte> summed = p.source;
  summed.insert(summed.end(), p.destination.begin(), p.destination.end());
  summed.insert(summed.end(), tcp.begin(), tcp.end());
  const auto pseudo = static_cast<std::uint32_t>(6 + tcp.size() % 65536);
  p.checksums_good = p.checksums_good && internet_checksum(summed, pseudo) == 0;

  bytes::Reader header(tcp);
  p.source_port = header.u16();
  p.destination_port = header.u16();
  p.seq = header.u32();
  p.ack = header.u32();
  const std::size_t size = static_cast<std::size_t>(header.u8() >> 4) * 4;
  p.flags = header.u8();
  p.payload = copy(tcp.subspan(size));
  return p;
}

inline bool is_arp(bytes::View ethernet) {
  return ethernet.size() >= 14 && bytes::load_be<std::uint16_t>(ethernet.data() + 12) == 0x0806;
}

/// Returns all TCP packets of the file in order. Skips ARP packets.
inline std::vector<TcpPacket> read_capture(const std::string& path) {
  char error[PCAP_ERRBUF_SIZE];
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> pcap(
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error),
      pcap_close);
  if (!pcap) throw std::runtime_error(error);
  if (pcap_datalink(pcap.get()) != DLT_EN10MB) throw std::runtime_error(path + ": not Ethernet");
  std::vector<TcpPacket> packets;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int got = 0;
  while ((got = pcap_next_ex(pcap.get(), &header, &data)) == 1) {
    const bytes::View octets{reinterpret_cast<const std::byte*>(data), header->caplen};
    if (is_arp(octets)) continue;
    packets.push_back(parse_packet(octets));
    packets.back().nanoseconds =
        std::int64_t{header->ts.tv_sec} * 1'000'000'000 + header->ts.tv_usec;
  }
  if (got != PCAP_ERROR_BREAK) throw std::runtime_error(path + ": " + pcap_geterr(pcap.get()));
  return packets;
}

/// One TCP connection: the octets of each direction, in the order in which the receiver could read
/// them.
struct Connection {
  struct Piece {
    bool from_opener;
    std::vector<std::byte> octets;
  };
  std::uint16_t opener_port = 0, acceptor_port = 0;
  std::vector<Piece> pieces;
};

/// Reassembles every connection whose SYN is among the packets. Drops retransmitted octets.
inline std::vector<Connection> reassemble(const std::vector<TcpPacket>& packets) {
  struct Flow {
    std::size_t connection = 0;
    bool opener = false;
    std::uint32_t next = 0;
    std::map<std::uint32_t, std::vector<std::byte>> early;
  };
  std::map<std::pair<std::uint16_t, std::uint16_t>, Flow> flows;
  std::vector<Connection> connections;
  for (const auto& p : packets) {
    const auto key = std::pair(p.source_port, p.destination_port);
    if ((p.flags & kTcpSyn) != 0) {
      const bool opener = (p.flags & kTcpAck) == 0;
      if (opener) connections.push_back({p.source_port, p.destination_port, {}});
      // SYNs of other connections may lie between a SYN and its SYN-ACK.
      const auto asked = flows.find({p.destination_port, p.source_port});
      if (!opener && asked == flows.end()) continue;
      const auto connection = opener ? connections.size() - 1 : asked->second.connection;
      flows[key] = {connection, opener, p.seq + 1, {}};
      continue;
    }
    const auto found = flows.find(key);
    if (found == flows.end() || p.payload.empty()) continue;
    Flow& flow = found->second;
    flow.early[p.seq] = p.payload;
    for (auto at = flow.early.begin(); at != flow.early.end();) {
      const auto repeated = static_cast<std::int32_t>(flow.next - at->first);
      if (repeated < 0) break;
      if (static_cast<std::size_t>(repeated) < at->second.size()) {
        std::vector<std::byte> fresh(at->second.begin() + repeated, at->second.end());
        flow.next += static_cast<std::uint32_t>(fresh.size());
        connections[flow.connection].pieces.push_back({flow.opener, std::move(fresh)});
      }
      at = flow.early.erase(at);
    }
  }
  return connections;
}

}  // namespace iwarp::test
