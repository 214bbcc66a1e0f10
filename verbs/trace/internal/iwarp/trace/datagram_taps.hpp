// SPDX-License-Identifier: Apache-2.0
// Taps for datagram queue pairs: CaptureDatagrams writes each datagram to a PacketSink, in a UDP
// packet with made-up Ethernet and IP headers; QlogDatagrams writes each datagram to a QlogFile, as
// an event.
#pragma once

#include <memory>
#include <vector>

#include "iwarp/trace/packet_sink.hpp"
#include "iwarp/trace/qlog_file.hpp"
#include "iwarp/verbs/datagram_tap.hpp"

namespace iwarp::trace {

class CaptureDatagrams final : public verbs::DatagramTap {
 public:
  explicit CaptureDatagrams(std::shared_ptr<PacketSink> file);
  void datagram(bool outbound, const verbs::DatagramEnds& ends, bytes::View octets,
                mpa::TimePoint now) override;

 private:
  std::shared_ptr<PacketSink> file_;
  std::vector<std::byte> packet_;
  std::uint16_t ip_id_ = 0;
};

class QlogDatagrams final : public verbs::DatagramTap {
 public:
  explicit QlogDatagrams(std::shared_ptr<QlogFile> file);
  void datagram(bool outbound, const verbs::DatagramEnds& ends, bytes::View octets,
                mpa::TimePoint now) override;

 private:
  std::shared_ptr<QlogFile> file_;
  std::uint64_t group_;
};

}  // namespace iwarp::trace
