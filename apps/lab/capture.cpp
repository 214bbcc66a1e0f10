// SPDX-License-Identifier: Apache-2.0
// Replays a session into a CaptureTap. The packets go into a pcap file in memory, or to the
// decoder.
#include "lab/capture.hpp"

#include <memory>

#include "frames/report/json_report.hpp"
#include "iwarp/bytes/cursor.hpp"
#include "iwarp/trace/capture_tap.hpp"

namespace iwarp::apps::lab {
namespace {

constexpr std::uint32_t kNanosecondPcap = 0xA1B23C4D;
/// Time at which each session begins, in seconds since 1970: the beginning of 2026.
constexpr std::int64_t kBegin = 1767225600;
constexpr std::int64_t kSecond = 1'000'000'000;

/// Writes the file format of libpcap: a file header, then each packet with a packet header.
class PcapFile final : public trace::PacketSink {
 public:
  PcapFile() {
    put32(kNanosecondPcap);
    put32(0x00020004);  // file format version 2.4
    put32(0);
    put32(0);
    put32(kMaxPacket);
    put32(frames::kLinkEthernet);
  }
  void write(bytes::View packet, mpa::TimePoint now) override {
    put32(static_cast<std::uint32_t>(kBegin + nanoseconds(now) / kSecond));
    put32(static_cast<std::uint32_t>(nanoseconds(now) % kSecond));
    put32(static_cast<std::uint32_t>(packet.size()));
    put32(static_cast<std::uint32_t>(packet.size()));
    octets.insert(octets.end(), packet.begin(), packet.end());
  }

  std::vector<std::byte> octets;

 private:
  void put32(std::uint32_t value) {
    octets.resize(octets.size() + sizeof value);
    bytes::store_be(octets.data() + octets.size() - sizeof value, value);
  }
};

class Decoding final : public trace::PacketSink {
 public:
  explicit Decoding(frames::ConnectionListener& listener) : connections(listener) {}
  void write(bytes::View packet, mpa::TimePoint now) override {
    connections.packet(frames::kLinkEthernet, packet, packet.size(),
                       {.nanoseconds = kBegin * kSecond + nanoseconds(now), .packet = ++number_});
  }

  frames::Connections connections;

 private:
  std::uint64_t number_ = 0;
};

/// Replays all segments of the session. When the tap is destroyed, it also writes a frame that has
/// been sent only in part.
void replay(const Session& session, const std::shared_ptr<trace::PacketSink>& sink) {
  trace::CaptureTap tap(sink, {.near = {"192.0.2.1", 49152}, .far = {"192.0.2.2", 7471}});
  session.link().replay(tap);
}

}  // namespace

std::vector<std::byte> pcap_of(const Session& session) {
  const auto file = std::make_shared<PcapFile>();
  replay(session, file);
  return std::move(file->octets);
}

std::string explained(const Session& session) {
  std::string lines;
  frames::JsonReport report({.octets = true}, {},
                            [&lines](std::string_view text) { lines += text; });
  const auto decoding = std::make_shared<Decoding>(report);
  replay(session, decoding);
  decoding->connections.finish();
  report.summary(decoding->connections.counts());
  return lines;
}

}  // namespace iwarp::apps::lab
