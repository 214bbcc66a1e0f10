// SPDX-License-Identifier: Apache-2.0
// Tests the wire format of datagrams, which sequence numbers are accepted from each sender, and a
// queue pair that receives datagrams from any sender.
#include <doctest/doctest.h>

#include <algorithm>
#include <ranges>
#include <vector>

#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/fpdu.hpp"
#include "iwarp/verbs/arrivals.hpp"
#include "iwarp/verbs/datagram_queue_pair.hpp"

namespace iwarp::verbs {
namespace {

using Octets = std::vector<std::byte>;

constexpr QpNum kOwn = 0x81B001;
constexpr QpNum kPeer = 0x82C002;
constexpr std::uint32_t kKey = 0x11111111;
constexpr PdId kDomain = 7;
constexpr IpAddress kHere{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1};
constexpr IpAddress kThere{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 2};
constexpr IpAddress kGroup{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 239, 1, 1, 1};
constexpr DatagramPath kFromThere{
    .own = kHere, .peer = kThere, .hop_limit = 9, .traffic_class = 0x68};

Octets text(const std::string& of) {
  const auto view = std::as_bytes(std::span(of));
  return {view.begin(), view.end()};
}

DatagramHeader header(std::uint32_t msn = 1) {
  return {.destination = kOwn, .source = kPeer, .q_key = kKey, .instance = 99, .msn = msn};
}

Octets whole(const DatagramHeader& head, const Octets& payload) {
  const auto front = encode(head);
  Octets out(front.begin(), front.end());
  out.insert(out.end(), payload.begin(), payload.end());
  const auto crc = mpa::crc_octets(crc32c::compute(out));
  out.insert(out.end(), crc.begin(), crc.end());
  return out;
}

/// A queue pair with memory, ready to send and receive.
struct End {
  std::vector<std::byte> memory = std::vector<std::byte>(16384);
  std::uint32_t seed = 1;
  StagTable stags{64, [this] { return seed += 0x01234567; }};
  CompletionQueue sends{256, [] {}};
  CompletionQueue receives{256, [] {}};
  Region* region = *stags.create({.pd = kDomain,
                                  .address = memory.data(),
                                  .length = memory.size(),
                                  .access = Access::kLocalWrite});
  DatagramQueuePair qp;

  explicit End(QpNum num = kOwn, std::size_t max_payload = 1024, SharedReceiveQueue* srq = nullptr)
      : qp({.num = num,
            .pd = kDomain,
            .send_cq = &sends,
            .recv_cq = &receives,
            .srq = srq,
            .limits = {.max_send_wr = 4, .max_recv_wr = 4},
            .signal_all = true,
            .instance = 5,
            .max_payload = max_payload},
           stags) {
    qp.set_q_key(kKey);
    bring_up();
  }
  void bring_up() {
    for (const auto state :
         {DatagramState::kInit, DatagramState::kReceiving, DatagramState::kReady}) {
      REQUIRE(!qp.set_state(state));
    }
  }
  Stag lkey() const { return Stag{region->stag.load()}; }
  Sge piece(std::size_t at, std::uint32_t length) {
    return {.address = memory.data() + at, .length = length, .lkey = lkey()};
  }
  std::error_code receive(std::size_t at = 0, std::uint32_t length = 1064) {
    const Sge sge = piece(at, length);
    return post({.wr_id = at, .sgl = {&sge, 1}});
  }
  /// Posts a receive to the queue that the queue pair uses.
  std::error_code post(const RecvWr& wr) {
    SharedReceiveQueue* const shared = qp.init().srq;
    return shared != nullptr ? shared->post_recv(wr) : qp.post_recv(wr);
  }
  std::error_code send(const Sge& sge, SendFlags flags = SendFlags::kNone, QpNum to = kPeer,
                       std::uint32_t key = kKey) {
    const DatagramWr wr{.wr_id = 1,
                        .flags = flags,
                        .sgl = {&sge, 1},
                        .to = {.path = {.own = kHere, .peer = kThere}, .qp = to, .q_key = key}};
    std::size_t posted = 0;
    return qp.post_send({&wr, 1}, posted);
  }
  std::uint64_t dropped(DatagramDrop why) { return qp.counters().dropped_for(why); }
  std::vector<WorkCompletion> came() {
    std::vector<WorkCompletion> out(16);
    out.resize(receives.poll(out));
    return out;
  }
  /// Returns the completion of the only datagram that has arrived.
  WorkCompletion arrival() {
    const auto all = came();
    REQUIRE(all.size() == 1);
    return all[0];
  }
};

/// Returns the octets of the only datagram that is queued for sending.
Octets leaves(End& end) {
  std::array<OutgoingDatagram, 4> batch;
  const auto ready = end.qp.prepare(batch);
  REQUIRE(ready.size() == 1);
  const auto octets = ready[0].octets();
  Octets out(octets.begin(), octets.end());
  end.qp.sent(ready[0], true);
  return out;
}

TEST_CASE("a datagram is decoded as it was encoded, with and without immediate data") {
  auto head = header(0xFFFFFFFF);
  head.solicited = true;
  for (const auto& immediate :
       {std::optional<std::uint32_t>{}, std::optional<std::uint32_t>{0xDEADBEEF}}) {
    head.immediate = immediate;
    const auto octets = whole(head, text("hello"));
    const auto out = decode_datagram(octets).value();
    CHECK(out.header == head);
    CHECK(std::ranges::equal(out.payload, text("hello")));
    CHECK(has_right_crc(octets));
    CHECK(describe_datagram(octets).find("5 octets") != std::string::npos);
  }
}

// [IBV-578]
TEST_CASE("over IPv6 the GRH is the IPv6 header itself") {
  End end;
  REQUIRE(!end.receive());
  const DatagramPath path{
      .own = {0x20, 1, 15, 7}, .peer = {0x20, 1, 15, 9}, .hop_limit = 3, .traffic_class = 0x68};
  end.qp.arrived(whole(header(), text("hello")), path);
  CHECK_FALSE(end.arrival().over_ipv4);
  CHECK(end.memory[0] == std::byte{0x66});
  CHECK(end.memory[1] == std::byte{0x80});
  CHECK(end.memory[5] == std::byte{8 + kDatagramOverhead + 5});
  CHECK(end.memory[6] == std::byte{17});
  CHECK(end.memory[7] == std::byte{3});
  CHECK(end.memory[11] == std::byte{9});
  CHECK(end.memory[27] == std::byte{7});
}

// [IBV-576, IBV-581]
TEST_CASE("each kind of wrong address has a counter, and consumes no receive") {
  End end;
  REQUIRE(!end.receive());
  const auto arrives = [&](auto change) {
    auto head = header();
    change(head);
    end.qp.arrived(whole(head, text("x")), kFromThere);
  };
  arrives([](auto& head) { head.destination = kOwn + 1; });
  arrives([](auto& head) { head.destination = kMulticastQp; });
  CHECK(end.dropped(DatagramDrop::kWrongQp) == 2);
  arrives([](auto& head) { head.q_key ^= 1; });
  CHECK(end.dropped(DatagramDrop::kWrongQKey) == 1);
  auto damaged = whole(header(), text("x"));
  damaged[kDatagramHeaderSize] ^= std::byte{1};
  end.qp.arrived(damaged, kFromThere);
  CHECK(end.dropped(DatagramDrop::kBadCrc) == 1);
  end.qp.arrived(text("GET / HTTP/1.1\r\n\r\n........................................"),
                 kFromThere);
  CHECK(end.dropped(DatagramDrop::kMalformed) == 1);
  arrives([](auto&) {});
  CHECK(end.came().size() == 1);
  arrives([](auto&) {});  // This datagram is a duplicate.
  CHECK(end.dropped(DatagramDrop::kRepeated) == 1);
  arrives([](auto& head) { head.msn = 2; });
  CHECK(end.dropped(DatagramDrop::kNoReceive) == 1);
  REQUIRE(!end.qp.set_state(DatagramState::kReset));
  REQUIRE(!end.qp.set_state(DatagramState::kInit));
  arrives([](auto& head) { head.msn = 3; });
  CHECK(end.dropped(DatagramDrop::kNotReceiving) == 1);
}

TEST_CASE("a datagram whose shared receive was consumed waits for the next receive, in order") {
  SharedReceiveQueue queue(kDomain, {}, {});
  End end(kOwn, 1024, &queue);
  CHECK(end.qp.deliver_waiting());
  end.qp.arrived(whole(header(1), text("a")), kFromThere);
  end.qp.arrived(whole(header(2), text("bc")), kFromThere);
  CHECK_FALSE(end.qp.deliver_waiting());
  CHECK(end.came().empty());
  REQUIRE_FALSE(end.receive(1));
  CHECK_FALSE(end.qp.deliver_waiting());
  const auto came = end.arrival();
  CHECK(came.wr_id == 1);
  CHECK(came.byte_len == kGrhSize + 1);
  REQUIRE_FALSE(end.receive(2));
  CHECK(end.qp.deliver_waiting());
  CHECK(end.arrival().byte_len == kGrhSize + 2);
  CHECK(end.dropped(DatagramDrop::kNoReceive) == 0);

  for (std::uint32_t msn = 3; msn != 103; ++msn) {
    end.qp.arrived(whole(header(msn), text("d")), kFromThere);
  }
  const auto lost = end.dropped(DatagramDrop::kNoReceive);
  // The queue pair keeps a limited number of datagrams, so that a peer cannot exhaust the memory.
  CHECK(lost > 0);
  CHECK(lost < 100);
  REQUIRE(!end.qp.set_state(DatagramState::kReset));
  CHECK(end.qp.deliver_waiting());
}

TEST_CASE("datagrams that wait for a shared receive are dropped if they are too long for it") {
  SharedReceiveQueue queue(kDomain, {}, {});
  End end(kOwn, 1024, &queue);
  end.qp.arrived(whole(header(1), text("hello")), kFromThere);
  end.qp.arrived(whole(header(2), text("hell")), kFromThere);
  REQUIRE_FALSE(end.receive(0, 44));
  CHECK(end.qp.deliver_waiting());
  CHECK(end.dropped(DatagramDrop::kTooLong) == 1);
  REQUIRE(end.came().size() == 1);
  end.qp.arrived(whole(header(3), text("hell")), kFromThere);
  end.qp.drop_waiting();
  CHECK(end.dropped(DatagramDrop::kNoReceive) == 1);
  CHECK(end.qp.deliver_waiting());
}

TEST_CASE("a receive into memory that is not registered completes with the error") {
  End end;
  const Sge foreign{.address = end.memory.data(), .length = 100, .lkey = Stag{0xABCDEF00}};
  REQUIRE(!end.qp.post_recv({.wr_id = 1, .sgl = {&foreign, 1}}));
  end.qp.arrived(whole(header(2), text("hello")), kFromThere);
  CHECK(end.arrival().status == WcStatus::kLocalProtection);
  CHECK(end.qp.state() == DatagramState::kReady);
}

TEST_CASE("the buffers of a datagram may be split differently at each end") {
  constexpr std::size_t kFrom = 8192;
  const Octets sent = text("abcdefghij");
  // Receive lists that split the datagram within the GRH, after the GRH, before the payload's last
  // octet, and at the end of the datagram. The last list is too short.
  const std::vector<std::vector<std::uint32_t>> layouts{{17, 26, 7}, {40, 10},        {40, 0, 9, 1},
                                                        {1, 48, 1},  {20, 20, 5, 35}, {17, 26, 6}};
  End from(kPeer);
  End to(kOwn);
  // Puts the parts of the payload into memory in another order, with gaps.
  std::ranges::copy(sent | std::views::take(3), from.memory.begin() + kFrom + 200);
  std::ranges::copy(sent | std::views::drop(3) | std::views::take(1),
                    from.memory.begin() + kFrom + 100);
  std::ranges::copy(sent | std::views::drop(4), from.memory.begin() + kFrom);
  const std::array gathered{from.piece(kFrom + 200, 3), from.piece(kFrom + 100, 1),
                            from.piece(kFrom + 300, 0), from.piece(kFrom, 6)};
  for (const auto& layout : layouts) {
    std::vector<Sge> scattered;
    std::size_t at = 0;
    std::size_t room = 0;
    for (const std::uint32_t length : layout) {
      scattered.push_back(to.piece(at, length));
      at += length + 3;  // The next part follows after a gap, which delivery must not change.
      room += length;
    }
    std::ranges::fill(to.memory, std::byte{0xEE});
    REQUIRE_FALSE(to.qp.post_recv({.wr_id = 8, .sgl = scattered}));
    const DatagramWr wr{.sgl = gathered,
                        .to = {.path = {.own = kThere, .peer = kHere}, .qp = kOwn, .q_key = kKey}};
    std::size_t posted = 0;
    REQUIRE_FALSE(from.qp.post_send({&wr, 1}, posted));
    const Octets datagram = leaves(from);
    CHECK(datagram.size() == kDatagramOverhead + sent.size());
    std::array<WorkCompletion, 2> done;
    REQUIRE(from.sends.poll(done) == 1);
    to.qp.arrived(datagram, kFromThere);
    if (room < kGrhSize + sent.size()) {
      CHECK(to.came().empty());
      CHECK(to.dropped(DatagramDrop::kTooLong) == 1);
      continue;
    }
    const auto came = to.arrival();
    CHECK(came.status == WcStatus::kSuccess);
    CHECK(came.byte_len == kGrhSize + sent.size());
    Octets joined;
    for (const Sge& piece : scattered) {
      joined.insert(joined.end(), piece.address, piece.address + piece.length);
      CHECK(std::ranges::count(std::span(piece.address + piece.length, 3), std::byte{0xEE}) == 3);
    }
    CHECK(std::ranges::equal(std::span(joined).subspan(kGrhSize, sent.size()), sent));
    CHECK(joined[20] == std::byte{0x45});  // The IPv4 header is in the second half of the GRH.
  }
}

TEST_CASE("a prepared datagram no longer needs its memory, which may change or be deregistered") {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{257}, kMaxDatagramPayload}) {
    End end(kPeer, kMaxDatagramPayload);
    REQUIRE(!end.send(end.piece(0, static_cast<std::uint32_t>(size))));
    std::array<OutgoingDatagram, 1> batch;
    const auto ready = end.qp.prepare(batch);
    REQUIRE(ready.size() == 1);
    end.memory[0] ^= std::byte{1};
    CHECK(end.region->pins.load() == 0);
    CHECK(ready[0].octets().size() == kDatagramOverhead + size);
    CHECK(decode_datagram(ready[0].octets()));
    CHECK(has_right_crc(ready[0].octets()));
    end.qp.sent(ready[0], true);
  }
}

TEST_CASE("datagrams that the socket does not accept now are prepared again, in order") {
  End end(kPeer);
  for (std::uint32_t i = 1; i <= 4; ++i) REQUIRE(!end.send(end.piece(0, i)));
  std::array<OutgoingDatagram, 4> batch;
  auto ready = end.qp.prepare(batch);
  REQUIRE(ready.size() == 4);
  end.qp.sent(ready[0], true);
  end.qp.give_back(3);
  ready = end.qp.prepare(batch);
  REQUIRE(ready.size() == 3);
  CHECK(ready[0].octets().size() == kDatagramOverhead + 2);
  for (auto& one : ready) end.qp.sent(one, true);
  CHECK(end.qp.counters().sent == 4);
}

TEST_CASE("each number of a sender is accepted once, in any order, unless it is too old") {
  Arrivals arrivals;
  const DatagramSender sender{.ip = kThere, .qp = 1, .instance = 1};
  const DatagramSender other{.ip = kThere, .qp = 1, .instance = 2};
  for (const std::uint32_t start : {1U, 0xFFFFFF00U}) {
    arrivals.clear();
    CHECK(arrivals.take(sender, start + 10));
    CHECK(arrivals.take(sender, start));  // This datagram is late.
    CHECK(arrivals.take(other, start));
    for (std::uint32_t i = 0; i != 2000; ++i) {
      CHECK(arrivals.take(sender, start + i) == (i != 0 && i != 10));
      CHECK_FALSE(arrivals.take(sender, start + i));
    }
    CHECK_FALSE(arrivals.take(sender, start + 1999 - Arrivals::kWindow));
    CHECK(arrivals.take(sender, start + 100000));
    CHECK(arrivals.take(sender, start + 100000 - Arrivals::kWindow + 1));
    CHECK_FALSE(arrivals.take(sender, start + 1999));
  }
}

TEST_CASE("256 senders are remembered at a time, and none of their numbers is accepted twice") {
  constexpr std::uint32_t kSenders = 256;
  Arrivals arrivals;
  std::uint32_t msn = 1;
  const auto of = [](std::uint32_t n) {
    return DatagramSender{.ip = kThere, .qp = 0x800000 | n, .instance = n * 0x9E3779B1};
  };
  for (std::uint32_t n = 0; n != kSenders; ++n) CHECK(arrivals.take(of(n), msn));
  for (std::uint32_t n = 0; n != kSenders; ++n) CHECK_FALSE(arrivals.take(of(n), msn));
  ++msn;
  CHECK(arrivals.take(of(0), msn));
  for (std::uint32_t n = 1; n != kSenders; ++n) CHECK(arrivals.take(of(n), msn));
  CHECK_FALSE(arrivals.take(of(0), msn));
  // One more sender evicts the least recently heard sender, and no other.
  CHECK(arrivals.take(of(kSenders), msn));
  for (std::uint32_t n = 2; n <= kSenders; ++n) CHECK_FALSE(arrivals.take(of(n), msn));
  CHECK_FALSE(arrivals.take(of(0), msn));
  CHECK(arrivals.take(of(1), msn));
}

}  // namespace
}  // namespace iwarp::verbs
