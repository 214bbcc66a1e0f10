// SPDX-License-Identifier: Apache-2.0
// The codec of datagrams. decode_datagram() refuses a packet if a constant field has a wrong value.
// This check is cheap and refuses most packets from unrelated senders.
#include "iwarp/verbs/datagram.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/fpdu.hpp"
#include "iwarp/rdmap/message_header.hpp"

namespace iwarp::verbs {
namespace {

constexpr std::uint8_t kSend = rdmap::control_octet(rdmap::Opcode::kSend);
constexpr std::uint8_t kSendSolicited = rdmap::control_octet(rdmap::Opcode::kSendSolicited);
// a bit above the 24 bits of the destination QPN
constexpr std::uint32_t kImmediateFlag = 1U << 24;
constexpr std::uint32_t kQpMask = 0xFFFFFF;

bool is_whole_send(const ddp::SegmentHeader& segment) {
  return !segment.tagged && segment.last && segment.version == ddp::kDdpVersion &&
         segment.rsvd_ulp_rest == 0 && segment.qn == rdmap::kSendQueue && segment.mo == 0 &&
         (segment.rsvd_ulp == kSend || segment.rsvd_ulp == kSendSolicited);
}

}  // namespace

DatagramHeaderOctets encode(const DatagramHeader& header) {
  DatagramHeaderOctets out;
  bytes::Writer writer(out);
  ddp::SegmentHeader segment;
  segment.last = true;
  segment.rsvd_ulp = header.solicited ? kSendSolicited : kSend;
  segment.qn = rdmap::kSendQueue;
  segment.msn = ddp::Msn{header.msn};
  ddp::encode(segment, writer);
  writer.u32((header.immediate ? kImmediateFlag : 0) | (header.destination & kQpMask));
  writer.u32(header.source & kQpMask);
  writer.u32(header.q_key);
  writer.u32(header.instance);
  writer.u32(header.immediate.value_or(0));
  return out;
}

std::optional<Datagram> decode_datagram(bytes::View octets) {
  if (octets.size() < kDatagramOverhead || octets.size() > kMaxDatagram) return std::nullopt;
  ddp::SegmentHeader segment;
  if (!ddp::decode(octets, segment) || !is_whole_send(segment)) return std::nullopt;
  bytes::Reader reader(octets.subspan(ddp::kUntaggedHeaderSize));
  const std::uint32_t destination = reader.u32();
  const std::uint32_t source = reader.u32();
  Datagram out;
  out.header.q_key = reader.u32();
  out.header.instance = reader.u32();
  const std::uint32_t immediate = reader.u32();
  const bool has_immediate = (destination & kImmediateFlag) != 0;
  const bool reserved = ((destination & ~kImmediateFlag) | source) > kQpMask;
  if (reserved || (!has_immediate && immediate != 0)) return std::nullopt;
  out.header.destination = destination & kQpMask;
  out.header.source = source;
  out.header.msn = segment.msn.value;
  out.header.solicited = segment.rsvd_ulp == kSendSolicited;
  if (has_immediate) out.header.immediate = immediate;
  out.payload = octets.subspan(kDatagramHeaderSize, octets.size() - kDatagramOverhead);
  return out;
}

bool has_right_crc(bytes::View octets) {
  // The CRC has MPA's octet order. [MPA-35]
  const auto covered = octets.first(octets.size() - kDatagramCrcSize);
  const auto expected = mpa::crc_octets(crc32c::compute(covered));
  return std::ranges::equal(expected, octets.last(kDatagramCrcSize));
}

std::string describe_datagram(bytes::View octets) {
  const auto datagram = decode_datagram(octets);
  if (!datagram) return fmt::format("not a datagram of this stack: {} octets", octets.size());
  const auto& [destination, source, q_key, instance, msn, solicited, immediate] = datagram->header;
  auto out = fmt::format(
      "Datagram{} QPN 0x{:06x} -> 0x{:06x} Q_Key 0x{:08x} instance 0x{:08x} MSN {}",
      solicited ? " with Solicited Event" : "", source, destination, q_key, instance, msn);
  if (immediate) out += fmt::format(" immediate 0x{:08x}", *immediate);
  return out + fmt::format(", {} octets{}", datagram->payload.size(),
                           has_right_crc(octets) ? "" : ", CRC wrong");
}

}  // namespace iwarp::verbs
