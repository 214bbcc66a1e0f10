// SPDX-License-Identifier: Apache-2.0
// Tests datagram queue pairs over a network that loses, duplicates, reorders, damages and
// misdirects datagrams. Every delivered datagram must be intact, at the right receiver, and
// delivered once. With IWARP_LONG=1 the test sends a million datagrams.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <unordered_set>
#include <vector>

#include "iwarp/verbs/datagram_queue_pair.hpp"

namespace iwarp::verbs {
namespace {

constexpr std::size_t kEnds = 4;
constexpr std::uint32_t kSlots = 16;
constexpr std::size_t kSlotSize = 256;
constexpr std::size_t kAway = 64;  ///< maximum number of datagrams in flight

/// The first octets of each payload, which describe the payload. Its length follows from
/// `sequence`.
struct Note {
  std::uint32_t from;
  std::uint32_t to;
  std::uint32_t sequence;
  std::size_t size() const { return sizeof(Note) + sequence % 200; }
  std::byte filler(std::size_t at) const {
    return static_cast<std::byte>(sequence * 31 + from * 7 + at);
  }
};

struct Host {
  explicit Host(std::uint32_t index)
      : own(index),
        qp({.num = 0x800000 | index,
            .pd = 1,
            .send_cq = &sent,
            .recv_cq = &came,
            .limits = {.max_send_wr = 4, .max_recv_wr = kSlots},
            .signal_all = true,
            .instance = 1000 + index},
           stags) {
    qp.set_q_key(index);
    for (const auto state :
         {DatagramState::kInit, DatagramState::kReceiving, DatagramState::kReady}) {
      REQUIRE(!qp.set_state(state));
    }
    for (std::uint32_t slot = 0; slot != kSlots; ++slot) post(slot);
  }
  IpAddress ip() const {
    return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, static_cast<std::uint8_t>(own)};
  }
  Sge piece(std::size_t at, std::size_t length) {
    return {.address = memory.data() + at,
            .length = static_cast<std::uint32_t>(length),
            .lkey = Stag{region->stag.load()}};
  }
  void post(std::uint64_t slot) {
    const Sge sge = piece((slot + 1) * kSlotSize, kSlotSize);
    REQUIRE(!qp.post_recv({.wr_id = slot, .sgl = {&sge, 1}}));
  }
  std::vector<std::byte> send(const Note& note, const Host& to);
  std::size_t check();

  std::uint32_t own;
  std::vector<std::byte> memory = std::vector<std::byte>((kSlots + 1) * kSlotSize);
  std::uint32_t seed = 0;
  StagTable stags{8, [this] { return seed += 0x01000100; }};
  CompletionQueue sent{64, [] {}};
  CompletionQueue came{64, [] {}};
  Region* region = *stags.create(
      {.pd = 1, .address = memory.data(), .length = memory.size(), .access = Access::kLocalWrite});
  DatagramQueuePair qp;
  std::unordered_set<std::uint64_t> seen;
};

std::vector<std::byte> Host::send(const Note& note, const Host& to) {
  std::memcpy(memory.data(), &note, sizeof note);
  for (std::size_t i = sizeof note; i != note.size(); ++i) memory[i] = note.filler(i);
  const Sge sge = piece(0, note.size());
  const DatagramWr wr{
      .sgl = {&sge, 1},
      .to = {.path = {.own = ip(), .peer = to.ip()}, .qp = to.qp.init().num, .q_key = to.own}};
  std::size_t posted = 0;
  REQUIRE(!qp.post_send({&wr, 1}, posted));
  static std::array<OutgoingDatagram, 1> batch;
  const auto ready = qp.prepare(batch);
  REQUIRE(ready.size() == 1);
  const auto octets = ready[0].octets();
  std::vector<std::byte> out(octets.begin(), octets.end());
  qp.sent(ready[0], true);
  WorkCompletion done;
  REQUIRE(sent.poll({&done, 1}) == 1);
  return out;
}

/// Polls completions. Returns the number of completions whose datagram is correct.
std::size_t Host::check() {
  std::array<WorkCompletion, 8> done;
  const auto count = came.poll(done);
  for (std::size_t i = 0; i != count; ++i) {
    REQUIRE(done[i].status == WcStatus::kSuccess);
    const std::byte* const at = memory.data() + (done[i].wr_id + 1) * kSlotSize + kGrhSize;
    Note note;
    std::memcpy(&note, at, sizeof note);
    REQUIRE(note.to == own);
    REQUIRE(done[i].source_qp == (0x800000 | note.from));
    REQUIRE(done[i].byte_len == kGrhSize + note.size());
    bool same = true;
    for (std::size_t n = sizeof note; n != note.size(); ++n) same &= at[n] == note.filler(n);
    REQUIRE(same);
    REQUIRE(seen.insert(std::uint64_t{note.from} << 32 | note.sequence).second);
    post(done[i].wr_id);
  }
  return count;
}

TEST_CASE("over an imperfect network, each datagram is delivered whole and once, or lost") {
  const bool is_long = std::getenv("IWARP_LONG") != nullptr;
  const std::uint32_t total = is_long ? 1'000'000 : 50'000;
  std::mt19937 random(7);
  const auto one_in = [&](std::uint32_t n) { return random() % n == 0; };
  std::vector<std::unique_ptr<Host>> hosts;
  for (std::uint32_t i = 0; i != kEnds; ++i) hosts.push_back(std::make_unique<Host>(i));
  struct Packet {
    std::size_t to;
    DatagramPath path;
    std::vector<std::byte> octets;
  };
  std::vector<Packet> away;
  std::size_t delivered = 0;
  std::size_t lost = 0;
  const auto arrive = [&] {
    std::swap(away[random() % away.size()], away.back());
    Packet& packet = away.back();
    const bool damaged = one_in(200);
    if (damaged) packet.octets[random() % packet.octets.size()] ^= std::byte{0x10};
    const bool astray = one_in(200);
    if (astray) packet.to = (packet.to + 1) % kEnds;
    hosts[packet.to]->qp.arrived(packet.octets, packet.path);
    delivered += hosts[packet.to]->check();
    const bool again = one_in(100);
    if (!again) away.pop_back();
    lost += (damaged || astray) && !again ? 1 : 0;
  };
  for (std::uint32_t i = 0; i != total; ++i) {
    const Note note{.from = static_cast<std::uint32_t>(random() % kEnds),
                    .to = static_cast<std::uint32_t>(random() % kEnds),
                    .sequence = i};
    Host& from = *hosts[note.from];
    Host& to = *hosts[note.to];
    auto octets = from.send(note, to);
    if (one_in(100)) {
      ++lost;
    } else {
      away.push_back({note.to, {.own = to.ip(), .peer = from.ip()}, std::move(octets)});
    }
    while (away.size() > kAway) arrive();
  }
  while (!away.empty()) arrive();
  MESSAGE(delivered << " of " << total << " delivered, " << lost << " lost on the way");
  CHECK(delivered + lost <= total + total / 100);
  CHECK(delivered > total - total / 20);
}

}  // namespace
}  // namespace iwarp::verbs
