// SPDX-License-Identifier: Apache-2.0
// Tests injected loss and delay of datagrams: which datagrams the receiver gets, that the sender
// sees no difference, and how other errors are reported. The program runs with
// IWARP_AS=roce, which the library reads once per process.
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <held_clock.hpp>
#include <numeric>

#include "ud.hpp"

using namespace faults;

/// Which send call fails with EAGAIN: 1 is the next call, and 0 means that no call fails.
static std::atomic<int> refused{0};

static bool is_refused() {
  if (refused.load() == 0 || refused.fetch_sub(1) != 1) return false;
  errno = EAGAIN;
  return true;
}

// These functions override the functions of the C library.
extern "C" int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  if (is_refused()) return -1;
  return static_cast<int>(::syscall(SYS_sendmmsg, fd, messages, count, flags));
}
extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (is_refused()) return -1;
  return ::syscall(SYS_sendmsg, fd, message, flags);
}

namespace {

[[maybe_unused]] const int kSet = setenv("IWARP_AS", "roce", 1);

/// Returns whether the kernel holds an unread datagram for the queue pair of `end`, according to
/// the tables of UDP sockets.
bool has_unread(const Ud& end) {
  for (const char* const table : {"/proc/net/udp", "/proc/net/udp6"}) {
    std::ifstream in(table);
    std::string line;
    while (std::getline(in, line)) {
      unsigned port = 0;
      unsigned unread = 0;
      const int found = std::sscanf(line.c_str(), " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %*x %*x:%x",
                                    &port, &unread);
      if (found == 2 && port == (end.qp->qp_num & 0xFFFF) && unread != 0) return true;
    }
  }
  return false;
}

Numbers up_to(Number last) {
  Numbers out(last);
  std::iota(out.begin(), out.end(), 1);
  return out;
}

Numbers sorted(Numbers numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace

TEST_CASE("lost datagrams never arrive, and each of the others arrives once") {
  const Ud from;
  const Ud to;
  to.post_receives();
  bool (*is_lost)(Number) = nullptr;
  SUBCASE("every third datagram is lost") {
    rule("every 3 datagrams " + from.named() + " lose");
    is_lost = [](Number n) { return n % 3 == 0; };
  }
  SUBCASE("a range of datagrams is lost") {
    rule("from 5 to 9 datagrams " + from.named() + " lose");
    is_lost = [](Number n) { return n >= 5 && n <= 9; };
  }
  SUBCASE("a lost datagram that another rule delays") {
    rule("after 2 datagrams " + from.named() + " lose");
    rule("after 2 datagrams " + from.named() + " delay 1us");
    is_lost = [](Number n) { return n == 2; };
  }
  SUBCASE("datagrams of another queue pair are lost") {
    rule("every 1 datagram " + to.named() + " lose");
    is_lost = [](Number) { return false; };
  }
  from.send_all(to, up_to(30));
  Numbers expected = up_to(30);
  std::erase_if(expected, is_lost);
  CHECK_EQ(sorted(to.take(expected.size())), expected);
}

TEST_CASE("delayed datagrams arrive complete and once, after others that were sent later") {
  const Ud from;
  const Ud to;
  to.post_receives();
  rule("every 3 datagrams " + from.named() + " delay 100ms");
  from.send_all(to, up_to(60));
  const Numbers order = to.take(60);
  CHECK_FALSE(std::ranges::is_sorted(order));
  CHECK_EQ(sorted(order), up_to(60));
}

TEST_CASE("a datagram that is delayed when its queue pair is destroyed never arrives") {
  Ud gone;
  const Ud from;
  const Ud to;
  to.post_receives();
  rule("after 1 datagram " + gone.named() + " delay 50ms");
  rule("after 1 datagram " + from.named() + " delay 51ms");
  {
    const iwarp::test::HeldClock clock;
    gone.send_all(to, {1});
    gone.end();
  }
  from.send_all(to, {2});
  // If queue pair `gone` had not been destroyed before its datagram was due, datagram 1 would have
  // arrived before datagram 2.
  CHECK_EQ(to.take(1), Numbers{2});
}

TEST_CASE("datagrams that arrive while the port is down are lost") {
  const Ud from;
  const Ud to;
  from.send_all(to, {1, 2, 3});  // No receive is posted, so the datagrams wait in the socket.
  REQUIRE(has_unread(to));
  rule("now port down");
  to.expect_event(IBV_EVENT_PORT_ERR);
  to.post_receives();
  while (has_unread(to)) REQUIRE(is_empty(to.receive_cq));
  rule("now port up");
  to.expect_event(IBV_EVENT_PORT_ACTIVE);
  from.send_all(to, {4});
  CHECK_EQ(to.take(1), Numbers{4});
}

TEST_CASE("an invalid request is not counted") {
  const Ud from;
  const Ud to;
  to.post_receives();
  rule("after 2 datagrams " + from.named() + " lose");
  from.send_all(to, {1});
  CHECK_EQ(from.send(to, 2, 1 << 20), IBV_WC_LOC_LEN_ERR);
  from.to_rts();
  from.send_all(to, {3, 4});
  CHECK_EQ(sorted(to.take(2)), Numbers{1, 4});
}

TEST_CASE("a datagram that does not fit into the socket buffer at first is counted once") {
  const Ud from;
  const Ud to;
  to.post_receives();
  rule("after 2 datagrams " + from.named() + " lose");
  rule("after 4 datagrams " + from.named() + " lose");
  int nth = 0;
  SUBCASE("the first of a list") { nth = 1; }
  SUBCASE("a later one of a list") { nth = 2; }
  refused = nth;
  from.send_list(to, {1, 2, 3, 4, 5});
  CHECK_EQ(refused.load(), 0);
  CHECK_EQ(sorted(to.take(3)), Numbers{1, 3, 5});
}

TEST_CASE("if one datagram of a list built with ibv_wr_*() fails, the whole list fails") {
  const Ud from;
  const Ud to;
  to.post_receives();
  rule("after 3 sends " + from.named() + " fail ENOMEM");
  CHECK_EQ(from.build(to, {1}), 0);
  CHECK_EQ(from.build(to, {2, 3, 4}), ENOMEM);
  CHECK_EQ(from.build(to, {5}), 0);
  CHECK_EQ(success(from.cq).wr_id, 1);
  CHECK_EQ(success(from.cq).wr_id, 5);
  CHECK_EQ(sorted(to.take(2)), Numbers{1, 5});
}

TEST_CASE("an injected status moves its queue pair to error, and a reset recovers it") {
  const Ud from;
  const Ud to;
  from.post_receives();
  to.post_receives();
  rule("after 2 completions " + from.named() + " status RETRY_EXC_ERR");
  CHECK_EQ(from.send(to, 1), IBV_WC_SUCCESS);
  CHECK_EQ(from.send(to, 2), IBV_WC_RETRY_EXC_ERR);
  CHECK_EQ(from.state(), IBV_QPS_ERR);
  for (std::size_t i = 0; i != kReceives; ++i) {
    CHECK_EQ(next(from.receive_cq).status, IBV_WC_WR_FLUSH_ERR);
  }
  CHECK_EQ(from.send(to, 3), IBV_WC_WR_FLUSH_ERR);
  REQUIRE_EQ(move_to(from.qp, IBV_QPS_RESET), 0);
  from.bring_up();
  CHECK_EQ(from.send(to, 4), IBV_WC_SUCCESS);
  // Datagram 2 was sent, although its completion reported an error.
  CHECK_EQ(sorted(to.take(3)), Numbers{1, 2, 4});
}

TEST_CASE("an injected error moves a datagram queue pair to error, and an event reports it") {
  Ud ud;
  ud.post_receives();
  rule("now " + ud.named() + " error");
  CHECK_EQ(ud.state(), IBV_QPS_ERR);
  ud.expect_event(IBV_EVENT_QP_FATAL);
  CHECK_EQ(next(ud.receive_cq).status, IBV_WC_WR_FLUSH_ERR);
  CHECK_EQ(ud.send(ud, 1), IBV_WC_WR_FLUSH_ERR);
  SUBCASE("and is destroyed after its event") {}
  SUBCASE("and is destroyed with an unread event") {
    rule("now " + ud.named() + " error");
    REQUIRE(is_readable(ud.context->async_fd));
  }
  ud.end();
  CHECK_FALSE(is_readable(ud.context->async_fd));
}
