// SPDX-License-Identifier: Apache-2.0
// Tests connections that the network resets, the protocol of the fault socket, and the removal of a
// device.
#include <rdma/rdma_cma.h>
#include <sys/syscall.h>

#include <atomic>

#include "rules.hpp"
#include "support.hpp"

using namespace data;
using faults::rule;

/// Number of accept4() calls that will still fail with EMFILE.
static std::atomic<int> refused{0};

/// Overrides the function of the C library.
extern "C" int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  if (refused.load() != 0 && refused.fetch_sub(1) > 0) {
    errno = EMFILE;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_accept4, fd, address, length, flags));
}

TEST_CASE("a connection that is reset is lost at both ends") {
  SettledPair pair({}, {}, kShort);
  REQUIRE_EQ(pair.a.post_recv(1, 0, 8), 0);
  REQUIRE_EQ(pair.b.post_recv(1, 0, 8), 0);
  SUBCASE("at once") {
    rule("now connection any reset");
    faults::check_that_peer_is_gone(pair.a, pair.b);
  }
  SUBCASE("after an octet in the middle of a message") {
    rule("after 1000 octets connection any reset");
    REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_WRITE, pair.b, 0, 4096, 0), 0);
    CHECK_EQ(next(pair.a.cq).status, IBV_WC_RETRY_EXC_ERR);
    CHECK_EQ(next(pair.a.cq).status, IBV_WC_WR_FLUSH_ERR);
  }
  faults::check_that_peer_is_gone(pair.b, pair.a);
}

TEST_CASE("the socket answers an invalid rule and continues") {
  const End end;
  {
    const faults::Socket socket;
    CHECK(socket.say("\n").starts_with("ok"));
    CHECK(socket.say("after 3 sends explode\n").starts_with("error: explode is not one of"));
    CHECK(socket.say("after 3 sends # nothing\n").starts_with("error: one of status"));
    CHECK(socket.say("seed 4\n") == "error: \"seed\" is allowed only in a fault file");
    CHECK(socket.say(std::string("\0\xff\x1b[2J\n", 7)).find('\x1b') == std::string::npos);
    // The text has no end of line and is too long, so the library closes the socket.
    CHECK_EQ(socket.say(std::string(5000, 'x')), "");
  }
  std::vector<std::unique_ptr<faults::Socket>> many;
  for (int i = 0; i < 20; ++i) many.push_back(std::make_unique<faults::Socket>());
  CHECK_EQ(many.back()->say("after 100000000 sends error\n"), "ok");
  CHECK(faults::Socket().say("list\n") != "");
}

TEST_CASE("a process without free descriptors retries periodically, and then listens") {
  const End end;
  constexpr int kTimes = 5;
  refused = kTimes;
  const auto from = std::chrono::steady_clock::now();
  CHECK_EQ(faults::Socket().say("after 100000000 sends error\n"), "ok");
  CHECK_LE(refused.load(), 0);
  CHECK_GE(std::chrono::steady_clock::now() - from, kTimes * 10ms);
}

// [RCM-342]
// [IBV-4, IBV-13, IBV-610]
TEST_CASE("a device removal is reported to all objects, which can then only be destroyed") {
  SettledPair pair;
  rdma_event_channel* channel = must(rdma_create_event_channel());
  rdma_cm_id* listener = nullptr;
  REQUIRE_EQ(rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP), 0);
  sockaddr_in here{.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  REQUIRE_EQ(rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&here)), 0);
  REQUIRE_EQ(rdma_listen(listener, 1), 0);
  REQUIRE_EQ(pair.a.post_recv(1, 0, 8), 0);
  rule("now remove device");

  CHECK_EQ(pair.a.post_recv(2, 0, 8), EIO);
  CHECK_EQ(next(pair.a.cq).status, IBV_WC_WR_FLUSH_ERR);
  CHECK_EQ(pair.a.take_async_event().event_type, IBV_EVENT_DEVICE_FATAL);
  rdma_cm_event* said = nullptr;
  REQUIRE_EQ(rdma_get_cm_event(channel, &said), 0);
  CHECK_EQ(said->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
  CHECK_EQ(said->id, listener);
  REQUIRE_EQ(rdma_ack_cm_event(said), 0);

  CHECK_EQ(pair.a.post({.opcode = IBV_WR_SEND}, 0, 8), EIO);
  CHECK_EQ(pair.a.modify(IBV_QPS_RESET), EIO);
  CHECK_EQ(error_of(ibv_reg_mr(pair.a.pd, pair.a.buffer.data(), 8, 0)), EIO);
  CHECK_EQ(ibv_alloc_pd(pair.a.context), nullptr);
  int devices = -1;
  ibv_device** list = must(ibv_get_device_list(&devices));
  CHECK_EQ(devices, 0);
  CHECK_EQ(list[0], nullptr);
  ibv_free_device_list(list);
  CHECK_EQ(error_of(ibv_open_device(pair.a.context->device)), ENODEV);
  CHECK_EQ(rdma_destroy_id(listener), 0);
  rdma_destroy_event_channel(channel);
}
