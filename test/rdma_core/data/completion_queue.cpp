// SPDX-License-Identifier: Apache-2.0
// Tests completion queues and their channels.
#include <fcntl.h>

#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "captured_stderr.hpp"
#include "support.hpp"

using namespace data;

// [IBV-30, IBV-231, IBV-232, IBV-233, IBV-235]
TEST_CASE("a completion queue has at least the requested size, and impossible sizes are refused") {
  ibv_context* context = open_device();
  ibv_device_attr device{};
  REQUIRE_EQ(ibv_query_device(context, &device), 0);
  for (const int cqe : {0, -1, device.max_cqe + 1}) {
    errno = 0;
    CHECK_EQ(error_of(ibv_create_cq(context, cqe, nullptr, nullptr, 0)), EINVAL);
  }
  for (const int vector : {-1, context->num_comp_vectors}) {
    errno = 0;
    CHECK_EQ(error_of(ibv_create_cq(context, 1, nullptr, nullptr, vector)), EINVAL);
  }
  ibv_cq* cq = must(ibv_create_cq(context, 100, context, nullptr, 0));
  CHECK_GE(cq->cqe, 100);
  CHECK_EQ(cq->cq_context, context);
  CHECK_EQ(ibv_destroy_cq(cq), 0);
  CHECK_EQ(ibv_close_device(context), 0);
}

// [IBV-238, IBV-239, IBV-240, IBV-241, IBV-242, IBV-305]
TEST_CASE("a completion queue can be enlarged, and shrunk to the completions that it holds") {
  End end({.cqe = 2});
  REQUIRE_EQ(end.modify(IBV_QPS_INIT), 0);
  CHECK_EQ(ibv_resize_cq(end.cq, 0), EINVAL);
  CHECK_EQ(ibv_resize_cq(end.cq, 1 << 30), EINVAL);
  REQUIRE_EQ(ibv_resize_cq(end.cq, 5), 0);
  CHECK_GE(end.cq->cqe, 5);
  REQUIRE_EQ(end.modify(IBV_QPS_ERR), 0);
  for (std::uint64_t i = 0; i < 5; ++i) REQUIRE_EQ(end.post_recv(i, 0, 8), 0);
  CHECK_EQ(ibv_resize_cq(end.cq, 2), EINVAL);
  for (std::uint64_t i = 0; i < 5; ++i) CHECK_EQ(next(end.cq).wr_id, i);
  CHECK_EQ(ibv_resize_cq(end.cq, 2), 0);
  CHECK_EQ(end.cq->cqe, 2);
}

// [IBV-118, IBV-212, IBV-236, IBV-350]
TEST_CASE("objects in use cannot be destroyed") {
  End end({.shared_receives = true});
  CHECK_EQ(ibv_destroy_cq(end.cq), EBUSY);
  CHECK_EQ(ibv_destroy_comp_channel(end.channel), EBUSY);
  CHECK_EQ(ibv_destroy_srq(end.srq), EBUSY);
  errno = 0;
  CHECK_EQ(ibv_dealloc_pd(end.pd), EBUSY);
  CHECK_EQ(errno, EBUSY);
}

// [IBV-271, IBV-272, IBV-274, IBV-296]
TEST_CASE("many completions are polled at a time, in order") {
  Options options;
  options.cap.max_send_wr = 64;
  Pair pair(options);
  for (std::size_t i = 0; i < 40; ++i) {
    REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_WRITE, pair.b, i, 1, i), 0);
  }
  std::uint64_t expected = 0;
  std::array<ibv_wc, 33> wcs{};
  const auto poll_all = [&] {
    const int got = ibv_poll_cq(pair.a.cq, 33, wcs.data());
    REQUIRE_GE(got, 0);
    for (const ibv_wc& wc : std::span(wcs).first(static_cast<std::size_t>(got))) {
      CHECK_EQ(wc.status, IBV_WC_SUCCESS);
      CHECK_EQ(wc.wr_id, expected++);
    }
    return expected == 40;
  };
  wait_until(poll_all, "a completion is missing");
}

// [IBV-222, IBV-223, IBV-224, IBV-225, IBV-210]
TEST_CASE("an armed queue notifies once, and not about completions that were queued before") {
  Pair pair;
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_READ, pair.b, 0, 8, 0), 0);
  pair.settle();  // settle() polls one completion and leaves the other one in the queue.
  REQUIRE_EQ(ibv_req_notify_cq(pair.a.cq, 0), 0);
  CHECK_FALSE(is_readable(pair.a.channel->fd));
  success(pair.a.cq);
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_READ, pair.b, 0, 8, 0), 0);
  pair.a.take_event();  // The program does not poll here, so the worker has to find the completion.
  success(pair.a.cq);
  REQUIRE_EQ(ibv_req_notify_cq(pair.a.cq, 0), 0);
  for (int i = 0; i < 3; ++i) {
    REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_READ, pair.b, 0, 8, 0), 0);
    success(pair.a.cq);
  }
  pair.a.take_event();
  CHECK_FALSE(is_readable(pair.a.channel->fd));
}

// [IBV-226, IBV-228, IBV-525]
TEST_CASE("a queue armed for solicited completions notifies about these and about errors") {
  for (const auto opcode : {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM}) {
    CAPTURE(opcode);
    Pair pair;
    const auto post = [&](unsigned flags) {
      return pair.a.post_rdma(opcode, pair.b, 0, 8, 100, IBV_SEND_SIGNALED | flags);
    };
    for (const std::uint64_t id : {1U, 2U, 3U}) REQUIRE_EQ(pair.b.post_recv(id, 0, 8), 0);
    REQUIRE_EQ(ibv_req_notify_cq(pair.b.cq, 1), 0);
    REQUIRE_EQ(post(0), 0);
    success(pair.b.cq);
    CHECK_FALSE(is_readable(pair.b.channel->fd));
    REQUIRE_EQ(post(IBV_SEND_SOLICITED), 0);
    pair.b.take_event();
    CHECK_EQ(success(pair.b.cq).wr_id, 2);
    REQUIRE_EQ(ibv_req_notify_cq(pair.b.cq, 1), 0);
    REQUIRE_EQ(pair.b.modify(IBV_QPS_ERR), 0);
    pair.b.take_event();
    CHECK_EQ(next(pair.b.cq).status, IBV_WC_WR_FLUSH_ERR);
  }
}

// [IBV-214]
TEST_CASE("a channel may be non-blocking") {
  End end;
  const int flags = fcntl(end.channel->fd, F_GETFL);
  REQUIRE_EQ(fcntl(end.channel->fd, F_SETFL, flags | O_NONBLOCK), 0);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  CHECK_EQ(error_of(ibv_get_cq_event(end.channel, &cq, &context)), EAGAIN);
}

// [IBV-218]
TEST_CASE("one channel serves several queues, and drops one that is destroyed") {
  Pair pair;
  End& a = pair.a;
  ibv_cq* other = must(ibv_create_cq(a.context, 10, nullptr, a.channel, 0));
  ibv_qp_init_attr attr{.send_cq = other,
                        .recv_cq = other,
                        .cap = {.max_send_wr = 4, .max_recv_wr = 4},
                        .qp_type = IBV_QPT_RC};
  ibv_qp* qp = must(ibv_create_qp(a.pd, &attr));
  REQUIRE_EQ(ibv_req_notify_cq(other, 0), 0);
  REQUIRE_EQ(post_recv(qp, {}), 0);
  REQUIRE_EQ(move_to(qp, IBV_QPS_ERR), 0);
  REQUIRE(is_readable(a.channel->fd, kTimeoutMs));
  REQUIRE_EQ(ibv_destroy_qp(qp), 0);
  REQUIRE_EQ(ibv_destroy_cq(other), 0);
  CHECK_FALSE(is_readable(a.channel->fd));
  // The program still receives events of the other queue.
  REQUIRE_EQ(ibv_req_notify_cq(a.cq, 0), 0);
  REQUIRE_EQ(a.post_rdma(IBV_WR_RDMA_READ, pair.b, 0, 8, 0), 0);
  a.take_event();
}

// [IBV-213, IBV-217]
TEST_CASE("destroying a queue waits for acknowledgements, says so, and tolerates too many") {
  const iwarp::test::CapturedStderr said;
  Pair pair;
  End& a = pair.a;
  REQUIRE_EQ(ibv_req_notify_cq(a.cq, 0), 0);
  REQUIRE_EQ(a.post_rdma(IBV_WR_RDMA_READ, pair.b, 0, 8, 0), 0);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  REQUIRE(is_readable(a.channel->fd, kTimeoutMs));
  REQUIRE_EQ(ibv_get_cq_event(a.channel, &cq, &context), 0);
  REQUIRE_EQ(ibv_destroy_qp(std::exchange(a.qp, nullptr)), 0);
  std::atomic<bool> is_destroyed{false};
  std::jthread other([&, destroyed = std::exchange(a.cq, nullptr)] {
    CHECK_EQ(ibv_destroy_cq(destroyed), 0);
    is_destroyed = true;
  });
  CHECK(said.comes_to_have("ibv_destroy_cq waits until the program acknowledges 1 event "));
  CHECK_FALSE(is_destroyed);
  // The thread that has read the event may use the queue until it acknowledges the event.
  CHECK_EQ(success(cq).opcode, IBV_WC_RDMA_READ);
  ibv_ack_cq_events(cq, 100);
}

// [IBV-243]
TEST_CASE("event moderation is refused") {
  End end;
  ibv_modify_cq_attr attr{.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {1, 1}};
  CHECK_EQ(ibv_modify_cq(end.cq, &attr), EOPNOTSUPP);
}
