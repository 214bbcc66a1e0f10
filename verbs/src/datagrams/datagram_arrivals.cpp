// SPDX-License-Identifier: Apache-2.0
// How a datagram queue pair handles received datagrams. Any octet may come from an attacker. Cheap
// checks are made first, and a datagram that fails a check is counted and dropped. No datagram is
// ever answered.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "iwarp/bytes/touch.hpp"
#include "iwarp/verbs/completion_queue_port.hpp"
#include "iwarp/verbs/datagram_queue_pair.hpp"
#include "iwarp/verbs/receive_queue.hpp"

namespace iwarp::verbs {
namespace {

constexpr std::array kNames{"malformed", "not_receiving", "wrong_qp",   "wrong_q_key",
                            "bad_crc",   "repeated",      "no_receive", "too_long"};
static_assert(kNames.size() == kDatagramDrops);

constexpr std::size_t kIpv4At = 12;
constexpr std::uint8_t kUdp = 17;
constexpr std::size_t kIpv4Size = 20;

using Grh = std::array<std::byte, kGrhSize>;

std::byte octet(std::size_t value) { return static_cast<std::byte>(value); }

void put(Grh& grh, std::size_t at, std::span<const std::uint8_t> octets) {
  std::memcpy(grh.data() + at, octets.data(), octets.size());
}

/// Returns a GRH with the known fields of the datagram's IP header. The header is in the same place
/// as in the GRH of a RoCE v2 adapter: an IPv6 header fills all 40 octets, and an IPv4 header the
/// last 20. [IBV-578, IBV-583]
Grh make_grh(const DatagramPath& path, std::size_t payload) {
  constexpr std::size_t kUdpHeader = 8;
  const std::size_t size = payload + kDatagramOverhead + kUdpHeader;
  Grh out{};
  if (!is_ipv4(path.peer)) {
    bytes::store_be(out.data(), std::uint32_t{6} << 28 | std::uint32_t{path.traffic_class} << 20);
    bytes::store_be(out.data() + 4, static_cast<std::uint16_t>(size));
    out[6] = octet(kUdp);
    out[7] = octet(path.hop_limit);
    put(out, 8, path.peer);
    put(out, 24, path.own);
    return out;
  }
  std::byte* const ip = out.data() + kGrhSize - kIpv4Size;
  ip[0] = octet(4 << 4 | 5);
  ip[1] = octet(path.traffic_class);
  bytes::store_be(ip + 2, static_cast<std::uint16_t>(size + kIpv4Size));
  ip[6] = octet(0x40);  // flag "don't fragment"
  ip[8] = octet(path.hop_limit);
  ip[9] = octet(kUdp);
  put(out, kGrhSize - 8, std::span(path.peer).subspan(kIpv4At));
  put(out, kGrhSize - 4, std::span(path.own).subspan(kIpv4At));
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kIpv4Size; i += 2) sum += bytes::load_be<std::uint16_t>(ip + i);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  bytes::store_be(ip + 10, static_cast<std::uint16_t>(~sum));
  return out;
}

}  // namespace

const char* to_string(DatagramDrop drop) { return kNames[static_cast<std::size_t>(drop)]; }

// [IBV-587]
void DatagramQueuePair::join(const IpAddress& group) {
  if (std::ranges::find(groups_, group) == groups_.end()) groups_.push_back(group);
}

void DatagramQueuePair::leave(const IpAddress& group) { std::erase(groups_, group); }

void DatagramQueuePair::arrived(bytes::View octets, const DatagramPath& path) {
  const auto datagram = decode_datagram(octets);
  auto drop = datagram ? judge(*datagram, octets, path) : DatagramDrop::kMalformed;
  if (!drop) drop = deliver(*datagram, path);
  // The driver reads only as many datagrams as there are receives, but another queue pair may since
  // have taken receives of a shared queue. Keep the datagram in that case.
  if (drop == DatagramDrop::kNoReceive && init_.srq != nullptr && waiting_.size() != kMostWaiting) {
    waiting_.push_back({.octets = {octets.begin(), octets.end()}, .path = path});
  } else if (drop) {
    count(*drop);
  }
}

bool DatagramQueuePair::deliver_waiting() {
  while (!waiting_.empty() && takes_datagrams()) {
    const Waiting& first = waiting_.front();
    const auto drop = deliver(*decode_datagram(first.octets), first.path);
    if (drop == DatagramDrop::kNoReceive) break;
    if (drop) count(*drop);
    waiting_.pop_front();
  }
  return waiting_.empty();
}

void DatagramQueuePair::drop_waiting() {
  for (; !deliver_waiting(); waiting_.pop_front()) count(DatagramDrop::kNoReceive);
}

bool DatagramQueuePair::all_polled() {
  return receives_.reaped().value() >= (init_.srq != nullptr ? shared_taken_ : receives_.taken());
}

// [IBV-579, IBV-580, IBV-581]
std::optional<DatagramDrop> DatagramQueuePair::deliver(const Datagram& datagram,
                                                       const DatagramPath& path) {
  PostedReceive receive;
  const std::size_t size = kGrhSize + datagram.payload.size();
  const auto found = init_.srq != nullptr
                         ? SharedReceiveQueuePort::take_for(*init_.srq, size, receive)
                         : receives_.take_for(size, receive);
  if (found == ReceiveFound::kNone) return DatagramDrop::kNoReceive;
  if (found == ReceiveFound::kTooShort) return DatagramDrop::kTooLong;
  const auto& header = datagram.header;
  const WorkCompletion wc{
      .wr_id = receive.wr_id,
      .status = place(receive, datagram, path),
      .opcode = header.immediate ? WcOpcode::kRecvDatagramImmediate : WcOpcode::kRecvDatagram,
      .byte_len = static_cast<std::uint32_t>(size),
      .qp_num = init_.num,
      .solicited = header.solicited,
      .source_qp = header.source,
      .over_ipv4 = is_ipv4(path.peer),
      .immediate = header.immediate.value_or(0)};
  if (wc.status == WcStatus::kSuccess) ++counters_.delivered;
  if (init_.srq != nullptr) ++shared_taken_;
  complete_receive(wc);
  return std::nullopt;
}

// [IBV-576]
std::optional<DatagramDrop> DatagramQueuePair::judge(const Datagram& datagram, bytes::View octets,
                                                     const DatagramPath& path) {
  if (!takes_datagrams()) return DatagramDrop::kNotReceiving;
  const auto& header = datagram.header;
  const bool is_for_us = header.destination == kMulticastQp
                             ? std::ranges::find(groups_, path.own) != groups_.end()
                             : header.destination == init_.num;
  if (!is_for_us) return DatagramDrop::kWrongQp;
  if (header.q_key != q_key()) return DatagramDrop::kWrongQKey;
  if (!has_right_crc(octets)) return DatagramDrop::kBadCrc;
  const DatagramSender sender{.ip = path.peer, .qp = header.source, .instance = header.instance};
  if (!arrivals_.take(sender, header.msn)) return DatagramDrop::kRepeated;
  return std::nullopt;
}

// [IBV-373, IBV-541]
WcStatus DatagramQueuePair::place(const PostedReceive& receive, const Datagram& datagram,
                                  const DatagramPath& path) {
  const AccessRequest writer{.pd = init_.srq != nullptr ? init_.srq->pd() : init_.pd,
                             .qp = init_.num,
                             .need = Access::kLocalWrite};
  const std::size_t size = kGrhSize + datagram.payload.size();
  std::array<Grant, bytes::kMaxSge> grants;
  bytes::Scatter room;
  std::size_t found = 0;
  for (const Sge& sge : receive.sgl) {
    if (found == size) break;
    if (sge.length == 0) continue;
    const auto length = static_cast<std::uint32_t>(std::min<std::size_t>(sge.length, size - found));
    Grant& grant = grants[room.size()];
    if (!stags_.acquire(writer, sge.lkey, virtual_address(sge.address), length, grant)) {
      return WcStatus::kLocalProtection;
    }
    room.push_back(grant.memory());
    found += length;
  }
  assert(found == size && "deliver() takes no receive that is too short");
  const Grh grh = make_grh(path, datagram.payload.size());
  const std::array<bytes::View, 2> parts{grh, datagram.payload};
  const bool is_there = bytes::guarded([&] {
    bytes::begin_touch();
    std::size_t part = 0;
    std::size_t at = 0;
    for (const bytes::Span piece : room) {
      for (std::size_t done = 0; done != piece.size();) {
        if (at == parts[part].size()) {
          ++part;
          at = 0;
        }
        const std::size_t n = std::min(piece.size() - done, parts[part].size() - at);
        std::memcpy(piece.data() + done, parts[part].data() + at, n);
        done += n;
        at += n;
      }
    }
    bytes::end_touch();
  });
  return is_there ? WcStatus::kSuccess : WcStatus::kLocalProtection;
}

void DatagramQueuePair::complete_receive(const WorkCompletion& wc) {
  const bool tell = wc.solicited || wc.status != WcStatus::kSuccess;
  const auto taken = init_.srq != nullptr ? shared_taken_ : receives_.taken();
  if (!CompletionQueuePort::push(*init_.recv_cq, wc, tell, {&receives_.reaped(), taken}))
    overflowed();
}

}  // namespace iwarp::verbs
