// SPDX-License-Identifier: Apache-2.0
// Makes the captures of rfc-notes/course with the stack itself: two ends, a simulated link in
// memory, a clock that only the link advances, and fixed STags and addresses. Each test runs one
// session again and compares its packets octet by octet with the file in course/. With
// IWARP_UPDATE_SNAPSHOTS=1 it writes the file instead. Nothing is sent to a network.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/sim/pair.hpp"
#include "iwarp/trace/capture_file.hpp"
#include "iwarp/trace/capture_tap.hpp"
#include "temporary_file.hpp"

namespace iwarp::test {
namespace {

using mpa::TimePoint;
using namespace sim;
using namespace verbs;

constexpr std::uint64_t kClientMemory =
    0x10000;  ///< TO of the first octet that the client registers
constexpr std::uint64_t kServerMemory = 0x20000;
constexpr auto kFlight = std::chrono::microseconds(50);  ///< one-way delay
constexpr trace::CaptureClock kClock{
    .wall = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000)),
    .steady = TimePoint{}};

/// Returns options that leave the tag of RFC 7306 out of the private data, so that each session
/// shows only its own subject.
ConnectionOptions plain() {
  ConnectionOptions options;
  options.startup.extensions = false;
  options.startup.ird = options.startup.ord = 4;
  return options;
}

/// One connection between a client, which connects, and a server. A capture file records all octets
/// on the link.
class CapturedPair : public sim::Pair {
 public:
  CapturedPair(const std::string& path, const ConnectionOptions& client_options,
               const ConnectionOptions& server_options, std::size_t emss = 1460)
      : Pair(client_options, server_options, {.seed = 0}) {
    auto file = trace::CaptureFile::create(path, kClock);
    REQUIRE_MESSAGE(file.has_value(), (file ? "" : file.error()));
    tap_ = std::make_unique<trace::CaptureTap>(
        *file, trace::CaptureEnds{{"192.0.2.1", 49152}, {"192.0.2.2", 7174}});
    client->connection->set_emss(emss);
    server->connection->set_emss(emss);
    REQUIRE(client->connection->connect({}, now));
    run();
    REQUIRE(server->event() == verbs::ConnectionEvent::Type::kRequest);
  }

  void accept() {
    REQUIRE(server->connection->accept(*server->qp, {}, 4, 4, now));
    run();
  }

  /// Runs until neither end has anything to send.
  void run() {
    while (carry(to_b) || carry(to_a)) {
    }
  }

  void close() {
    client->connection->disconnect(now);
    run();
  }

  /// Flips the lowest bit of octet number `octet` in the next flight.
  void damage(std::size_t octet) { damaged_ = octet; }

  const std::shared_ptr<End>& client = a;
  const std::shared_ptr<End>& server = b;

 private:
  /// Carries one flight: all octets that an end can send now, and then its FIN or reset.
  bool carry(sim::Direction& way) {
    const auto begin = way.log.size();
    const bool outbound = &way == &to_b;
    const bool moved = way.send() != 0;
    if (moved) {
      now += kFlight;
      const auto octets = std::span(way.log).subspan(begin);
      if (damaged_ < octets.size()) octets[std::exchange(damaged_, SIZE_MAX)] ^= std::byte{1};
      tap_->octets(outbound, octets, now);
      while (way.deliver() != 0) {
      }
      way.lose();  // what a receiver that no longer reads has not taken
    }
    way.finish();
    if (way.over || !(way.fin || way.reset)) return moved;
    now += kFlight;
    tap_->closed(outbound, way.reset, now);
    return way.deliver_end();
  }

  std::unique_ptr<trace::CaptureTap> tap_;
  std::size_t damaged_ = SIZE_MAX;
};

// --- Steps of the sessions ---

/// Creates a region that only this stream can access, as an application should do. [SEC-7]
Region* memory_at(End& end, std::uint64_t to, std::string_view text, std::size_t size,
                  Access access) {
  Region* region = end.memory(size, Access::kLocalWrite | access, true);
  const auto octets = std::as_bytes(std::span(text));
  std::ranges::copy(octets.first(std::min(octets.size(), size)), region->address);
  // A fixed TO, which does not depend on the addresses in this process.
  region->to_base = to;
  return region;
}

void receive(End& end, std::size_t size) {
  const verbs::Sge to = sge(end.memory(size, Access::kLocalWrite), 0, size);
  REQUIRE(!end.qp->post_recv({.wr_id = 1, .sgl = {&to, 1}}));
}

/// Posts a request about `text`, which it copies to registered memory that begins at `to`.
void post_text(End& end, std::string_view text, verbs::SendWr request, std::uint64_t to = 0) {
  const Region* from = memory_at(end, to, text, text.size(), Access::kLocalWrite);
  const verbs::Sge what = sge(from, 0, text.size());
  request.sgl = {&what, 1};
  REQUIRE(!end.qp->post_send(request));
}

void send_text(End& end, std::string_view text) {
  post_text(end, text, {.wr_id = 2, .opcode = WrOpcode::kSend});
}

/// Sends the TO, STag and length of a buffer to the peer.
void tell(End& end, const Region* region) {
  std::array<std::byte, 16> octets{};
  bytes::Writer out(octets);
  out.u64(region->to_base);
  out.u32(region->stag.load());
  out.u32(static_cast<std::uint32_t>(region->length));
  send_text(end, {reinterpret_cast<const char*>(octets.data()), octets.size()});
}

void write_text(End& end, std::string_view text, verbs::RemoteAddress to) {
  post_text(end, text, {.wr_id = 3, .opcode = WrOpcode::kWrite, .remote = to}, kServerMemory);
}

std::string counting_text(std::size_t size) {
  std::string text;
  for (int line = 0; text.size() < size; ++line) {
    const auto number = std::to_string(line);
    text += "line " + std::string(3 - number.size(), '0') + number + "\n";
  }
  text.resize(size);
  return text;
}

/// A connected pair whose client has registered `size` octets and sent their TO, STag and length to
/// the server.
struct Told {
  Told(const std::string& path, std::size_t size, Access access, std::string_view text = {},
       const ConnectionOptions& client_options = plain(), std::size_t emss = 1460,
       const ConnectionOptions& server_options = plain())
      : pair(path, client_options, server_options, emss) {
    pair.accept();
    for (int i = 0; i < 4; ++i) receive(*pair.client, 64), receive(*pair.server, 64);
    buffer = memory_at(*pair.client, kClientMemory, text, size, access);
    tell(*pair.client, buffer);
    pair.run();
  }
  CapturedPair pair;
  Region* buffer = nullptr;
};

// --- The sessions ---

constexpr std::string_view kHello = "Hello, remote memory!";

void write_session(const std::string& path) {
  Told s(path, 64, Access::kRemoteWrite);
  write_text(*s.pair.server, kHello, remote(s.buffer));
  send_text(*s.pair.server, "done");
  s.pair.run();
  CHECK(std::memcmp(s.buffer->address, kHello.data(), kHello.size()) == 0);
  s.pair.close();
}

void read_session(const std::string& path) {
  const auto text = counting_text(1000);
  Told s(path, text.size(), Access::kRemoteRead, text, plain(), 536);
  End& server = *s.pair.server;
  const Region* sink = memory_at(server, kServerMemory, {}, 1000, Access::kRemoteWrite);
  const verbs::Sge to = sge(sink, 0, 1000);
  REQUIRE(!server.qp->post_send(
      {.wr_id = 5, .opcode = WrOpcode::kRead, .sgl = {&to, 1}, .remote = remote(s.buffer)}));
  s.pair.run();
  CHECK(std::memcmp(sink->address, text.data(), text.size()) == 0);
  send_text(server, "done");
  s.pair.run();
  s.pair.close();
}

void invalidate_session(const std::string& path) {
  Told s(path, 64, Access::kRemoteWrite);
  write_text(*s.pair.server, kHello, remote(s.buffer));
  post_text(*s.pair.server, "done",
            {.wr_id = 4,
             .opcode = WrOpcode::kSendInvalidate,
             .invalidate = verbs::Stag{s.buffer->stag.load()}});
  s.pair.run();
  write_text(*s.pair.server, "too late", remote(s.buffer));
  s.pair.run();
}

void bounds_session(const std::string& path) {
  Told s(path, 64, Access::kRemoteWrite);
  write_text(*s.pair.server, kHello, remote(s.buffer, 56));
  s.pair.run();
  CHECK(s.buffer->address[56] == std::byte{0});
}

void rights_session(const std::string& path) {
  Told s(path, 64, Access::kRemoteRead);
  write_text(*s.pair.server, kHello, remote(s.buffer));
  s.pair.run();
}

void crc_session(const std::string& path) {
  Told s(path, 64, Access::kRemoteWrite);
  write_text(*s.pair.server, kHello, remote(s.buffer));
  s.pair.damage(20);
  s.pair.run();
  CHECK(s.buffer->address[0] == std::byte{0});
}

void long_send_session(const std::string& path) {
  Told s(path, 64, Access::kRemoteWrite);
  send_text(*s.pair.server, counting_text(80));
  s.pair.run();
}

void no_receive_session(const std::string& path) {
  CapturedPair pair(path, plain(), plain());
  pair.accept();
  receive(*pair.server, 64);
  for (const auto* text : {"one", "two"}) {
    send_text(*pair.client, text);
    pair.run();
  }
}

void markers_session(const std::string& path) {
  ConnectionOptions with_markers = plain();
  with_markers.startup.markers = true;
  Told s(path, 1024, Access::kRemoteWrite, {}, with_markers);
  const auto text = counting_text(999);
  write_text(*s.pair.server, text, remote(s.buffer));
  send_text(*s.pair.server, "done");
  s.pair.run();
  CHECK(std::memcmp(s.buffer->address, text.data(), text.size()) == 0);
  s.pair.close();
}

/// Runs a session in which the server sends first.
void greeting_session(const std::string& path, const ConnectionOptions& client_options) {
  CapturedPair pair(path, client_options, plain());
  receive(*pair.client, 64);
  pair.accept();
  receive(*pair.server, 64);
  send_text(*pair.server, "welcome");
  pair.run();
  pair.now += std::chrono::seconds(2);
  send_text(*pair.client, "is anybody there?");
  pair.run();
  pair.close();
}

void rtr_session(const std::string& path) {
  ConnectionOptions peer_to_peer = plain();
  peer_to_peer.startup.rtr = mpa::Rtr::kWrite;
  greeting_session(path, peer_to_peer);
}

void rejected_session(const std::string& path) {
  CapturedPair pair(path, plain(), plain());
  constexpr std::string_view kWhy = "full";
  REQUIRE(pair.server->connection->reject(std::as_bytes(std::span(kWhy)), {}));
  pair.run();
}

void atomic_session(const std::string& path) {
  ConnectionOptions extended = plain();
  extended.startup.extensions = true;
  Told s(path, 8, Access::kRemoteAtomic, {}, extended, 1460, extended);
  End& server = *s.pair.server;
  const verbs::Sge old = sge(memory_at(server, kServerMemory, {}, 8, Access::kLocalWrite), 0, 8);
  REQUIRE(!server.qp->post_send({.wr_id = 6,
                                 .opcode = WrOpcode::kFetchAdd,
                                 .sgl = {&old, 1},
                                 .remote = remote(s.buffer),
                                 .atomic = {.add_or_swap = 3}}));
  s.pair.run();
  REQUIRE(!server.qp->post_send({.wr_id = 7,
                                 .opcode = WrOpcode::kCmpSwap,
                                 .sgl = {&old, 1},
                                 .remote = remote(s.buffer),
                                 .atomic = {.add_or_swap = 9, .compare = 3}}));
  s.pair.run();
  s.pair.close();
}

const std::map<std::string, std::function<void(const std::string&)>> kSessions{
    {"write", write_session},
    {"read", read_session},
    {"invalidate", invalidate_session},
    {"bounds", bounds_session},
    {"rights", rights_session},
    {"crc", crc_session},
    {"long-send", long_send_session},
    {"no-receive", no_receive_session},
    {"markers", markers_session},
    {"silent", [](const std::string& path) { greeting_session(path, plain()); }},
    {"rtr", rtr_session},
    {"rejected", rejected_session},
    {"atomic", atomic_session},
};

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST_CASE("the captures of the course equal those that the stack makes of their sessions") {
  const char* value = std::getenv("IWARP_UPDATE_SNAPSHOTS");
  const bool update = value != nullptr && std::string_view(value) == "1";
  for (const auto& [name, make] : kSessions) {
    CAPTURE(name);
    const std::string kept = std::string(IWARP_TEST_VECTORS) + "/course/" + name + ".pcap";
    if (update) {
      make(kept);
      continue;
    }
    const TemporaryFile made;
    make(made.path());
    // To accept an intended change: set IWARP_UPDATE_SNAPSHOTS=1, then run rfc-notes/figures.py
    // --update.
    CHECK_MESSAGE(content(made.path()) == content(kept), (kept + " is stale"));
  }
}

TEST_CASE("every capture in the folder of the course is one of its sessions") {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(IWARP_TEST_VECTORS) + "/course")) {
    CHECK_MESSAGE(kSessions.contains(entry.path().stem().string()), entry.path().string());
  }
}

}  // namespace
}  // namespace iwarp::test
