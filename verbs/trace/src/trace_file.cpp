// SPDX-License-Identifier: Apache-2.0
// Chooses between log and capture, and contains the two taps of datagrams: one writes UDP packets,
// the other the events of a log.
#include "iwarp/trace/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "iwarp/bytes/hex.hpp"
#include "iwarp/trace/qlog_tap.hpp"
#include "synthetic_packet.hpp"

namespace iwarp::trace {
namespace {

constexpr std::size_t kUdpSize = 8;
constexpr std::size_t kUdpChecksumAt = 6;
constexpr std::size_t kIpv4At = 12;

IpAddress shown(const verbs::IpAddress& ip) {
  IpAddress out{.octets = {}, .v6 = !verbs::is_ipv4(ip)};
  std::ranges::transform(std::span(ip).subspan(out.v6 ? 0 : kIpv4At), out.octets.begin(),
                         [](std::uint8_t octet) { return std::byte{octet}; });
  return out;
}

std::string end_json(const verbs::IpAddress& ip, std::uint16_t port) {
  return fmt::format(R"({{"ip":"{}","port":{}}})", to_string(shown(ip)), port);
}

class CaptureDatagrams final : public verbs::DatagramTap {
 public:
  explicit CaptureDatagrams(std::shared_ptr<PacketSink> file) : file_(std::move(file)) {}
  void datagram(bool outbound, const verbs::DatagramEnds& ends, bytes::View octets,
                mpa::TimePoint now) override {
    synthetic::Addresses addresses{shown(ends.own), shown(ends.peer), outbound};
    std::uint16_t from = ends.own_port;
    std::uint16_t to = ends.peer_port;
    if (!outbound) {
      std::swap(addresses.from, addresses.to);
      std::swap(from, to);
    }
    const std::size_t size = kUdpSize + octets.size();
    auto out = synthetic::begin_packet(packet_, addresses, synthetic::kUdp, size, ip_id_++);
    const std::size_t udp_at = out.size();
    out.u16(from);
    out.u16(to);
    out.u16(static_cast<std::uint16_t>(size));
    out.u16(0);
    out.put(octets);
    const auto sum =
        synthetic::checksum(addresses, synthetic::kUdp, bytes::View(packet_).subspan(udp_at));
    // In UDP, a checksum field of 0 means that there is no checksum, so a sum of 0 is sent as
    // 0xFFFF.
    bytes::store_be(packet_.data() + udp_at + kUdpChecksumAt,
                    sum != 0 ? sum : std::uint16_t{0xFFFF});
    file_->write(packet_, now);
  }

 private:
  std::shared_ptr<PacketSink> file_;
  std::vector<std::byte> packet_;
  std::uint16_t ip_id_ = 0;
};

class QlogDatagrams final : public verbs::DatagramTap {
 public:
  explicit QlogDatagrams(std::shared_ptr<QlogFile> file)
      : file_(std::move(file)), group_(file_->next_group()) {}
  void datagram(bool outbound, const verbs::DatagramEnds& ends, bytes::View octets,
                mpa::TimePoint now) override {
    file_->event(group_, outbound ? "datagram_sent" : "datagram_received",
                 fmt::format(R"({{"local":{},"remote":{},"raw":{{"length":{},"data":"{}"}}}})",
                             end_json(ends.own, ends.own_port), end_json(ends.peer, ends.peer_port),
                             octets.size(), bytes::to_hex(octets, 0)),
                 now);
  }

 private:
  std::shared_ptr<QlogFile> file_;
  std::uint64_t group_;
};

}  // namespace

bool TraceFile::names_log(std::string_view path) {
  return path.ends_with(".qlog") || path.ends_with(".sqlog");
}

std::expected<TraceFile, std::string> TraceFile::create(const std::string& path,
                                                        const CaptureClock& clock,
                                                        QlogFile::Now now) {
  TraceFile out;
  if (names_log(path)) {
    auto log = QlogFile::create(path, clock, std::move(now));
    if (!log) return std::unexpected(log.error());
    out.log_ = std::move(*log);
    out.frames_ = !path.ends_with(".work.qlog");
  } else {
    auto capture = CaptureFile::create(path, clock);
    if (!capture) return std::unexpected(capture.error());
    out.capture_ = std::move(*capture);
  }
  return out;
}

std::unique_ptr<verbs::WireTap> TraceFile::tap(const CaptureEnds& ends) const {
  if (log_ != nullptr) return std::make_unique<QlogTap>(log_, ends, frames_);
  return std::make_unique<CaptureTap>(capture_, ends);
}

std::shared_ptr<verbs::DatagramTap> TraceFile::datagram_tap() const {
  if (log_ != nullptr) return log_datagrams(log_);
  return capture_datagrams(capture_);
}

std::string TraceFile::error() const { return log_ != nullptr ? log_->error() : capture_->error(); }

std::shared_ptr<verbs::DatagramTap> capture_datagrams(std::shared_ptr<PacketSink> file) {
  return std::make_shared<CaptureDatagrams>(std::move(file));
}

std::shared_ptr<verbs::DatagramTap> log_datagrams(std::shared_ptr<QlogFile> file) {
  return std::make_shared<QlogDatagrams>(std::move(file));
}

}  // namespace iwarp::trace
