// SPDX-License-Identifier: Apache-2.0
// Tests atomic operations of many connections on one 64-bit word, over real sockets and threads.
// Also tests peers that violate RFC 7306.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <ostream>
#include <thread>

#include "iwarp/bytes/hex.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/framer.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "raw_peer.hpp"
#include "socket_pair.hpp"
#include "vectors.hpp"

using namespace iwarp;
using namespace iwarp::net;
using Type = CmEvent::Type;
using verbs::SendFlags;
using verbs::SendWr;
using verbs::WrOpcode;

namespace {

constexpr std::uint64_t kConnections = 8;
constexpr std::uint64_t kBatch = 50;

// With sanitizers, the full count runs only if IWARP_LONG=1 is set.
std::uint64_t adds_per_connection() {
#ifdef IWARP_SANITIZED
  const char* wanted = std::getenv("IWARP_LONG");
  if (wanted == nullptr || std::string_view(wanted) != "1") return 2'000;
#endif
  return 100'000;
}

struct Word {
  alignas(8) std::array<std::byte, 8> octets{};
  std::atomic_ref<std::uint64_t> ref() {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(octets.data()));
  }
};

/// A connection whose requester `a` is on device `from`. Device `to` holds the peer `b` and the
/// region with the shared word.
struct Client {
  Client(Rnic& from, Rnic& to, Word& word)
      : a(from, 64),
        b(to, 64),
        region(must(
            to.register_memory(*b.pd, std::span<std::byte>(word.octets), Access::kRemoteAtomic))) {
    join(a, b);
    REQUIRE(a.qp->query().extensions);
  }

  // Adds 1 to the word `count` times, in batches. Returns the number of batches whose last addition
  // returned a smaller value than the last addition of the previous batch.
  std::uint64_t add(std::uint64_t count, bool polling) {
    const auto old = a.sge(0, 8);
    const SendWr one{.opcode = WrOpcode::kFetchAdd,
                     .sgl = {&old, 1},
                     .remote = {.rkey = region.stag(), .to = region.to(region.address())},
                     .atomic = {.add_or_swap = 1}};
    const std::vector<SendWr> batch(kBatch, one);
    std::uint64_t backward = 0;
    std::uint64_t last = 0;
    for (std::uint64_t done = 0; done < count; done += kBatch) {
      std::size_t posted = 0;
      REQUIRE_FALSE(a.qp->post_send(batch, posted));
      for (std::uint64_t i = 0; i < kBatch; ++i) {
        const auto wc = polling ? a.spin() : a.completion();
        REQUIRE_EQ(to_string(wc.status), to_string(verbs::WcStatus::kSuccess));
      }
      std::uint64_t value = 0;
      std::memcpy(&value, a.buffer.data(), sizeof value);
      backward += value < last ? 1 : 0;
      last = value;
    }
    return backward;
  }

  End a;
  End b;
  Memory region;
};

/// Returns the code of the next Terminate, for example "0/2/06".
std::string terminate_code(RawPeer& peer) {
  const auto length = bytes::load_be<std::uint16_t>(peer.receive(2).data());
  const auto ulpdu = peer.receive(length);
  CHECK_EQ(ulpdu[1], std::byte{0x47});
  const auto control = std::to_integer<unsigned>(ulpdu[18]);
  return std::to_string(control >> 4) + "/" + std::to_string(control & 15) + "/" +
         bytes::to_hex(bytes::View(ulpdu).subspan(19, 1));
}

std::vector<std::byte> frame(const char* name) {
  return iwarp::test::load_vector("extensions.hex", name).octets;
}

/// Returns an FPDU that carries an Immediate of `size` octets with MSN 1.
std::vector<std::byte> immediate(std::size_t size) {
  std::array<std::byte, ddp::kUntaggedHeaderSize> header{};
  bytes::Writer writer{bytes::Span(header)};
  ddp::encode({.last = true, .rsvd_ulp = rdmap::control_octet(rdmap::Opcode::kImmediate)}, writer);
  const std::vector<std::byte> payload(size, std::byte{0x5A});
  mpa::Framer framer({.markers = false, .crc = true});
  framer.frame(header, {bytes::View(payload)}, mpa::PayloadMode::kCopy, 0);
  std::vector<std::byte> out;
  for (const bytes::View piece : framer.plan(16)) out.insert(out.end(), piece.begin(), piece.end());
  return out;
}

/// Connects a raw peer to `pair.b`; both ends agree on RFC 7306.
RawPeer agreed(Pair& pair) {
  const auto tag = octets(mpa::extensions_tag(mpa::FrameKind::kRequest));
  auto peer = RawPeer::ask(pair.listener->local().port,
                           {.kind = mpa::FrameKind::kRequest, .crc = true, .private_data = tag});
  pair.accept();
  expect(*pair.b.cm, Type::kEstablished);
  CHECK(pair.b.qp->query().extensions);
  peer.receive(20 + tag.size());
  return peer;
}

}  // namespace

TEST_CASE(
    "eight connections and the program add to one word through eight regions: the sum is exact "
    "[EXT-4] [EXT-40] [EXT-42]") {
  auto from = open_rnic();
  auto to = open_rnic({.workers = 2});
  Word word;
  std::vector<std::unique_ptr<Client>> clients;
  for (std::uint64_t i = 0; i < kConnections; ++i) {
    clients.push_back(std::make_unique<Client>(*from, *to, word));
  }
  const auto count = adds_per_connection();
  std::atomic<std::uint64_t> backward{0};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kConnections; ++i) {
    threads.emplace_back([&, i] { backward += clients[i]->add(count, i % 2 == 0); });
  }
  for (std::uint64_t i = 0; i < count; ++i) word.ref().fetch_add(1);
  for (auto& thread : threads) thread.join();
  CHECK_EQ(word.ref().load(), (kConnections + 1) * count);
  CHECK_EQ(backward.load(), 0);
}

TEST_CASE(
    "a peer that uses RFC 7306 without having announced it receives Terminate 0/2/06 [EXT-2] "
    "[EXT-63]") {
  Pair pair;
  for (const auto* name : {"I", "J", "K"}) {
    auto peer = RawPeer::ask(pair.listener->local().port);
    pair.accept();
    expect(*pair.b.cm, Type::kEstablished);
    peer.receive(20);
    peer.send(frame(name));
    CHECK_EQ(terminate_code(peer), "0/2/06");
    peer.close();
    expect(*pair.b.cm, Type::kDisconnected);
    REQUIRE_FALSE(pair.b.qp->reset());
  }
}

TEST_CASE(
    "after agreement, an unexpected response or an Immediate of a wrong length ends the stream, "
    "but not the device [EXT-38] [EXT-54] [EXT-61]") {
  Pair pair;
  const std::pair<std::vector<std::byte>, const char*> rows[] = {
      {frame("K"), "0/2/06"}, {immediate(7), "0/2/ff"}, {immediate(9), "1/2/05"}};
  for (const auto& [octets, code] : rows) {
    pair.b.post_recv(0, 64);
    auto peer = agreed(pair);
    peer.send(octets);
    CHECK_EQ(terminate_code(peer), code);
    peer.close();
    expect(*pair.b.cm, Type::kDisconnected);
    // The error is in the peer's message and not in the posted receive, so the receive is flushed
    // and does not fail.
    CHECK_EQ(to_string(pair.b.completion().status), to_string(verbs::WcStatus::kWrFlush));
    REQUIRE_FALSE(pair.b.qp->reset());
  }
  pair.connect();
}
