// SPDX-License-Identifier: Apache-2.0
// Tests the limits of a device, and what deregistration guarantees.
#include <thread>

#include "iwarp/verbs/completion_queue_port.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

TEST_CASE(
    "the device enforces its limits, and freed objects can be allocated again [SEC-1] [SEC-2] "
    "[SEC-21] [SEC-23] [DDP-100] [DDP-101] [RDMAP-120] [RDMAP-121] [RDMAP-124]") {
  RnicOptions options;
  options.max_pds = 2;
  options.max_cqs = 2;
  options.max_qps = 1;
  options.max_srqs = 1;
  options.max_regions = 2;
  options.max_cqe = 100;
  options.max_wr = 50;
  auto rnic = open_rnic(options);
  auto pd = must(rnic->alloc_pd());
  const auto limit = make_error_code(Errc::kLimitReached);
  {
    auto second = must(rnic->alloc_pd());
    CHECK_EQ(rnic->alloc_pd().error(), limit);
  }
  must(rnic->alloc_pd());
  CHECK_EQ(rnic->create_cq(101).error(), make_error_code(Errc::kInvalidArgument));
  CHECK_EQ(rnic->create_cq(0).error(), make_error_code(Errc::kInvalidArgument));
  auto cq = must(rnic->create_cq(100));
  {
    auto second = must(rnic->create_cq(1));
    CHECK_EQ(rnic->create_cq(1).error(), limit);
  }
  verbs::QpInit init{.send_cq = cq.get(), .recv_cq = cq.get()};
  CHECK_EQ(rnic->create_qp(*pd, init).error(), make_error_code(Errc::kInvalidArgument));
  init.limits.max_send_wr = init.limits.max_recv_wr = 50;
  auto srq = must(rnic->create_srq(*pd, {.max_wr = 50}));
  CHECK_EQ(rnic->create_srq(*pd, {.max_wr = 51}).error(), make_error_code(Errc::kInvalidArgument));
  CHECK_EQ(rnic->create_srq(*pd, {.max_wr = 1}).error(), limit);
  auto qp = must(rnic->create_qp(*pd, init));
  CHECK_EQ(rnic->create_qp(*pd, init).error(), limit);
  qp.reset();
  qp = must(rnic->create_qp(*pd, init));
  std::vector<std::byte> buffer(10);
  auto region = must(rnic->register_memory(*pd, std::span(buffer), Access::kLocalWrite));
  auto window = must(rnic->allocate_window(*pd));
  CHECK_EQ(rnic->allocate_fast_region(*pd).error(), limit);
  REQUIRE_FALSE(region.deregister());
  CHECK(rnic->allocate_fast_region(*pd).has_value());
}

TEST_CASE("a queue pair accepts completion queues of its own device only [SEC-30] [RDMAP-116]") {
  auto mine = open_rnic();
  auto others = open_rnic();
  auto pd = must(mine->alloc_pd());
  auto own = must(mine->create_cq(16));
  auto foreign = must(others->create_cq(16));
  const auto create = [&](CompletionQueue* send, CompletionQueue* recv) {
    return mine->create_qp(*pd, {.send_cq = send, .recv_cq = recv});
  };
  CHECK(create(own.get(), own.get()).has_value());
  CHECK_EQ(create(foreign.get(), own.get()).error(), make_error_code(Errc::kInvalidArgument));
  CHECK_EQ(create(own.get(), foreign.get()).error(), make_error_code(Errc::kInvalidArgument));
  CHECK_EQ(verbs::CompletionQueuePort::attached(*foreign), 0);
}

TEST_CASE(
    "after deregistering no octet changes, even while the peer keeps writing [SEC-14] [DDP-98]") {
  constexpr std::size_t kSize = 256 * 1024;
  for (int kind = 0; kind < 3; ++kind) {
    CAPTURE(kind);
    ConnectOptions connect;
    ListenOptions listen;
    connect.connection.startup.crc = listen.connection.startup.crc = kind == 0;
    listen.connection.placement =
        kind == 1 ? verbs::Placement::kDirect : verbs::Placement::kVerified;
    Pair pair(kSize, {}, {"127.0.0.1", 0}, listen);
    pair.connect(connect);
    const auto target = pair.b.remote(0);
    // Posts one Write after the other until the peer rejects one.
    std::atomic<int> written{0};
    std::jthread writer([&] {
      for (;;) {
        if (pair.a.post(WrOpcode::kWrite, 0, kSize, target)) return;
        if (pair.a.completion().status != verbs::WcStatus::kSuccess) return;
        ++written;
        pair.a.buffer[0] = static_cast<std::byte>(written.load());
      }
    });
    while (written < 20) std::this_thread::yield();
    REQUIRE_FALSE(pair.b.memory.deregister());
    // The program may now use the memory for something else. If the library still accessed it, a
    // sanitizer would report that.
    const auto mine = pattern(kSize, 99);
    std::copy(mine.begin(), mine.end(), pair.b.buffer.begin());
    writer.join();
    CHECK_EQ(pair.b.buffer, mine);
  }
}
