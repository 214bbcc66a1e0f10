// SPDX-License-Identifier: Apache-2.0
// Tests which thread reads a datagram when it arrives: the worker, unless the program polls for the
// datagram itself.
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "iwarp/net/statistics.hpp"
#include "raw_peer.hpp"
#include "ready_datagrams.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

namespace fs = std::filesystem;

/// Returns the number of datagram sockets that the epoll sets of this process watch.
int watched_datagram_sockets() {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream in(entry.path());
    constexpr std::string_view kWatched = "tfd:";
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with(kWatched)) continue;
      const auto at = line.find_first_not_of(' ', kWatched.size());
      int fd = -1;
      std::from_chars(line.data() + at, line.data() + line.size(), fd);
      if (is_datagram_socket(fd)) ++count;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("while the program polls, the kernel wakes no worker for a datagram") {
  ReadyDatagrams end;
  end.post_receives(1);
  CHECK(comes_true([] { return watched_datagram_sockets() == 1; }));
  for (int round = 0; round != 3; ++round) {
    CHECK(comes_true([&] {
      verbs::WorkCompletion wc;
      for (int i = 0; i != 100; ++i) REQUIRE_EQ(end.cq->poll(std::span(&wc, 1)), 0);
      return watched_datagram_sockets() == 0;
    }));
    // The program has stopped polling, so the worker watches the socket again.
    CHECK(comes_true([] { return watched_datagram_sockets() == 1; }));
  }
}

TEST_CASE(
    "datagrams that overflow the socket buffer are counted, also after the queue pair is "
    "destroyed") {
  ReadyDatagrams end;
  const std::uint16_t port = verbs::datagram_port(end.qp->num());
  const int small = 4096;
  REQUIRE_EQ(::setsockopt(sockets_at(port).front(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small),
             0);
  constexpr std::uint64_t kSent = 200;
  // These datagrams are malformed and consume no receive. One posted receive is therefore enough to
  // let the driver read the whole socket buffer.
  const UniqueFd stranger(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto to = loopback(port);
  const std::vector<std::byte> octets(500);
  for (std::uint64_t i = 0; i != kSent; ++i) {
    REQUIRE_EQ(::sendto(stranger.get(), octets.data(), octets.size(), 0, to.get(), to.length),
               static_cast<ssize_t>(octets.size()));
  }
  const std::uint64_t lost = end.qp->counters().lost;
  CHECK_GT(lost, 0);
  CHECK_LT(lost, kSent);
  CHECK_EQ(end.qp->counters().lost, lost);
  end.post_receives(1);
  CHECK(comes_true([&] {
    const auto all = end.qp->counters();
    return all.dropped_for(verbs::DatagramDrop::kMalformed) + all.lost == kSent;
  }));
  CHECK_EQ(end.qp->counters().lost, lost);
  end.qp.reset();
  CHECK_EQ(end.rnic->statistics().datagrams.lost, lost);
}

TEST_CASE("one datagram costs at most one system call, and a list of 16 to one peer costs one") {
  ReadyDatagrams end;
  end.post_receives(40);
  for (int i = 0; i != 5; ++i) end.send(1);
  CHECK_EQ(end.qp->counters().send_calls, 5);
  end.send(16);
  CHECK_EQ(end.qp->counters().send_calls, 6);
  end.send(17);
  CHECK_EQ(end.qp->counters().send_calls, 8);
  CHECK(comes_true([&] { return end.qp->counters().delivered == 38; }));
  const auto all = end.qp->counters();
  CHECK_EQ(all.sent, 38);
  CHECK_GE(all.receive_calls, 3);  // One call receives at most 16 datagrams.
  CHECK_LE(all.receive_calls, 38);
}

TEST_CASE(
    "a group is joined on every interface that allows it, other interfaces are counted, and "
    "detaching leaves all") {
  constexpr verbs::IpAddress kFirst{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 239, 55, 56, 0};
  constexpr unsigned kNone = 0x7FFFFFF;
  const unsigned here = ::if_nametoindex("lo");
  ReadyDatagrams end;
  CHECK_EQ(end.qp->attach(kFirst, std::array{kNone}).value(), ENODEV);
  CHECK_EQ(end.qp->counters().unjoined, 1);
  CHECK_EQ(end.qp->detach(kFirst), Errc::kInvalidArgument);
  REQUIRE_FALSE(end.qp->attach(kFirst, std::array{here, kNone, here}));
  CHECK_EQ(end.qp->counters().unjoined, 2);
  REQUIRE_FALSE(end.qp->detach(kFirst));
  CHECK_EQ(end.qp->detach(kFirst), Errc::kInvalidArgument);
  // Attaches groups up to the limit. Attaching another group then fails.
  auto group = kFirst;
  constexpr std::uint8_t kGroups = 32;
  for (; group.back() != kGroups; ++group.back()) {
    REQUIRE_FALSE(end.qp->attach(group, std::array{here}));
  }
  CHECK_EQ(end.qp->attach(group, std::array{here}), Errc::kLimitReached);
  REQUIRE_FALSE(end.qp->attach(kFirst, std::array{here}));
  end.qp.reset();
  CHECK_EQ(end.rnic->statistics().datagrams.unjoined, 3);
}

namespace {

using verbs::DatagramDrop;

std::uint64_t without_receive(const ReadyDatagrams& end) {
  return end.qp->counters().dropped_for(DatagramDrop::kNoReceive);
}
bool delivers(const ReadyDatagrams& end, std::uint64_t count) {
  return comes_true([&] { return end.qp->counters().delivered == count; });
}

}  // namespace

TEST_CASE(
    "datagrams that arrived while no receive was posted are dropped and counted at the next post") {
  ReadyDatagrams end;
  end.send(3);
  REQUIRE(holds(port_of(end), 3));
  CHECK_EQ(without_receive(end), 0);
  end.post_receives(2);
  CHECK_EQ(without_receive(end), 3);
  end.send(2);
  CHECK(delivers(end, 2));
  // Repeats the test after the program has polled the two completions.
  end.send(1);
  REQUIRE(holds(port_of(end), 1));
  std::array<verbs::WorkCompletion, 4> done;
  CHECK_EQ(end.cq->poll(done), 2);
  end.post_receives(1);
  CHECK_EQ(without_receive(end), 4);
  CHECK_EQ(end.qp->counters().delivered, 2);
}

TEST_CASE(
    "datagrams that arrive while receives are posted are delivered, however late they are read") {
  ReadyDatagrams end;
  end.post_receives(1);
  for (int i = 0; i != 100; ++i) {
    // A receive is posted at all times, so the worker may read this datagram at any time.
    end.send(1);
    end.post_receives(1);
  }
  CHECK(delivers(end, 100));
  CHECK_EQ(without_receive(end), 0);
}

TEST_CASE("datagrams are kept for a limited time while an application has unpolled completions") {
  for (const auto lateness : {std::chrono::nanoseconds(1h), 0ns}) {
    const bool is_kept = lateness != 0ns;
    ReadyDatagrams end(lateness);
    end.post_receives(1);
    end.send(1);
    REQUIRE(delivers(end, 1));
    end.send(2);
    REQUIRE(holds(port_of(end), 2));
    end.post_receives(2);
    if (is_kept) CHECK(delivers(end, 3));
    CHECK_EQ(without_receive(end), is_kept ? 0 : 2);
  }
}

TEST_CASE(
    "datagrams that arrived before the queue pair could receive are dropped, although receives are "
    "posted") {
  ReadyDatagrams end;
  ReadyDatagrams peer;
  for (const auto state : {verbs::DatagramState::kReset, verbs::DatagramState::kInit}) {
    REQUIRE_FALSE(end.qp->set_state(state));
  }
  end.post_receives(2);
  peer.send(2, end);
  REQUIRE(holds(port_of(end), 2));
  for (const auto state : {verbs::DatagramState::kReceiving, verbs::DatagramState::kReady}) {
    REQUIRE_FALSE(end.qp->set_state(state));
  }
  CHECK_EQ(end.qp->counters().dropped_for(DatagramDrop::kNotReceiving), 2);
  peer.send(1, end);
  CHECK(delivers(end, 1));
}

TEST_CASE("two queue pairs drop datagrams that arrive while the SRQ of both is empty") {
  ReadyDatagrams base;
  const auto queue = must(base.rnic->create_srq(*base.pd, {}));
  std::array<std::unique_ptr<DatagramQp>, 2> ends;
  for (auto& end : ends) {
    end = must(base.rnic->create_datagram_qp(
        *base.pd,
        {.init = {.send_cq = base.send_cq.get(), .recv_cq = base.cq.get(), .srq = queue.get()},
         .ports = {},
         .tap = nullptr}));
    for (const auto state : {verbs::DatagramState::kInit, verbs::DatagramState::kReceiving}) {
      REQUIRE_FALSE(end->set_state(state));
    }
  }
  const auto post = [&] {
    const verbs::Sge all = base.sge(static_cast<std::uint32_t>(base.room.size()));
    REQUIRE_FALSE(queue->post_recv({.wr_id = 1, .sgl = std::span(&all, 1)}));
  };
  const auto dropped = [&](std::size_t which) {
    return ends.at(which)->counters().dropped_for(DatagramDrop::kNoReceive);
  };
  for (std::uint64_t round = 1; round != 3; ++round) {
    for (const auto& end : ends) {
      base.send_to(end->num(), 1);
      REQUIRE(holds(verbs::datagram_port(end->num()), 1));
    }
    post();
    CHECK_EQ(dropped(0), round);
    CHECK_EQ(dropped(1), round);
    base.send_to(ends.back()->num(), 1);
    std::array<verbs::WorkCompletion, 2> done;
    REQUIRE(comes_true([&] { return base.cq->poll(done) == 1; }));
    CHECK_EQ(done.front().qp_num, ends.back()->num());
  }
}
