// SPDX-License-Identifier: Apache-2.0
// Tests queue pairs through the C interface: requested and actual capabilities, full queues, inline
// data, unsignaled requests, and requests that are built with ibv_wr_*().
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <thread>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

TEST_CASE("a new queue pair is in RESET, and has at least the requested capabilities") {
  const Context context = open_device();
  const Pd pd(ibv_alloc_pd(context.get()));
  const Cq cq(ibv_create_cq(context.get(), 64, nullptr, nullptr, 0));
  const ibv_qp_cap wanted{.max_send_wr = 13,
                          .max_recv_wr = 7,
                          .max_send_sge = 3,
                          .max_recv_sge = 1,
                          .max_inline_data = 100};
  ibv_qp_init_attr init{
      .send_cq = cq.get(), .recv_cq = cq.get(), .cap = wanted, .qp_type = IBV_QPT_RC};
  const Qp qp(ibv_create_qp(pd.get(), &init));
  REQUIRE(qp);
  CHECK(init.cap.max_send_wr >= wanted.max_send_wr);
  CHECK(init.cap.max_recv_wr >= wanted.max_recv_wr);
  CHECK(init.cap.max_send_sge >= wanted.max_send_sge);
  CHECK(init.cap.max_recv_sge >= wanted.max_recv_sge);
  CHECK(init.cap.max_inline_data >= wanted.max_inline_data);

  ibv_qp_attr attr{};
  ibv_qp_init_attr queried{};
  REQUIRE(ibv_query_qp(qp.get(), &attr, IBV_QP_STATE | IBV_QP_CAP, &queried) == 0);
  CHECK(attr.qp_state == IBV_QPS_INIT);  // An RNIC reports INIT instead of RESET.
  CHECK(qp->state == IBV_QPS_RESET);
  CHECK(queried.cap.max_send_wr == init.cap.max_send_wr);
  CHECK(queried.send_cq == cq.get());
}

TEST_CASE("requests above the limits of the device are refused") {
  const Context context = open_device();
  const Pd pd(ibv_alloc_pd(context.get()));
  const Cq cq(ibv_create_cq(context.get(), 64, nullptr, nullptr, 0));
  ibv_device_attr device{};
  REQUIRE(ibv_query_device(context.get(), &device) == 0);
  const auto refused = [&](auto change) {
    ibv_qp_init_attr init{
        .send_cq = cq.get(), .recv_cq = cq.get(), .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    change(init);
    errno = 0;
    const Qp qp(ibv_create_qp(pd.get(), &init));
    return qp ? 0 : errno;
  };
  const auto wr = static_cast<std::uint32_t>(device.max_qp_wr);
  const auto sge = static_cast<std::uint32_t>(device.max_sge);
  CHECK(refused([](auto&) {}) == 0);
  CHECK(refused([&](auto& init) { init.cap.max_send_wr = wr; }) == 0);
  CHECK(refused([&](auto& init) { init.cap.max_send_wr = wr + 1; }) == EINVAL);
  CHECK(refused([&](auto& init) { init.cap.max_recv_wr = wr + 1; }) == EINVAL);
  CHECK(refused([&](auto& init) { init.cap.max_send_sge = sge + 1; }) == EINVAL);
  CHECK(refused([&](auto& init) { init.cap.max_inline_data = 1U << 30; }) == EINVAL);
  CHECK(refused([](auto& init) { init.qp_type = IBV_QPT_UD; }) == EOPNOTSUPP);
}

TEST_CASE("a full receive queue returns an error, and identifies the request that did not fit") {
  Pair pair;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  REQUIRE(ibv_query_qp(pair.server.id->qp, &attr, IBV_QP_CAP, &init) == 0);
  const Buffer in(pair.server.pd.get(), 64);
  for (std::uint32_t i = 0; i < init.cap.max_recv_wr; ++i) {
    REQUIRE(pair.server.receive(in.sge()) == 0);
  }
  CHECK(pair.server.receive(in.sge()) == ENOMEM);
}

TEST_CASE("a full send queue returns an error; accepted requests arrive when the peer is ready") {
  constexpr std::size_t kSize = 4 << 20;  // more than the kernel can buffer
  constexpr std::uint32_t kQueue = 8;
  constexpr std::uint64_t kMost = 64;
  Pair pair({.cap = {kQueue, kQueue, 1, 1, 0}});
  const Buffer out(pair.client.pd.get(), kSize);
  const Buffer in(pair.server.pd.get(), kSize);
  // The peer has posted no receive, so it reads only up to the header of the first message.
  std::uint64_t taken = 0;
  int error = 0;
  while (taken < kMost && (error = pair.client.send(out.sge(), IBV_SEND_SIGNALED, taken)) == 0) {
    ++taken;
  }
  CHECK(error == ENOMEM);
  CHECK(taken >= kQueue);
  for (std::uint64_t i = 0; i < taken; ++i) {
    REQUIRE(pair.server.receive(in.sge()) == 0);
    CHECK(End::done(pair.server.receive_cq).byte_len == kSize);
    CHECK(End::done(pair.client.send_cq).wr_id == i);
  }
  REQUIRE(pair.server.receive(in.sge()) == 0);
  CHECK(pair.client.send(out.sge()) == 0);  // The queue has room again.
  End::done(pair.server.receive_cq);
}

TEST_CASE("unsignaled requests free their slots") {
  Pair pair;
  constexpr std::uint64_t kRounds = 50;
  constexpr std::uint64_t kBatch = 8;
  const Buffer out(pair.client.pd.get(), "unsignaled");
  Buffer in(pair.server.pd.get(), 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (std::uint64_t i = 1; i < kBatch; ++i) {
      REQUIRE(pair.client.write(out.sge(), in, 0) == 0);
    }
    REQUIRE(pair.client.send(out.sge(0), IBV_SEND_SIGNALED, round) == 0);
    REQUIRE(pair.server.receive(in.sge(0)) == 0);
    CHECK(End::done(pair.client.send_cq).wr_id == round);
    End::done(pair.server.receive_cq);
  }
  CHECK(in.text(10) == "unsignaled");
  ibv_wc wc{};
  CHECK(ibv_poll_cq(pair.client.send_cq.get(), 1, &wc) == 0);
}

TEST_CASE("all requests complete if the queue pair was created with sq_sig_all") {
  Pair pair({.all_signaled = true});
  const Buffer out(pair.client.pd.get(), "x");
  const Buffer in(pair.server.pd.get(), 64);
  REQUIRE(pair.server.receive(in.sge()) == 0);
  REQUIRE(pair.client.send(out.sge(), 0, 7) == 0);
  CHECK(End::done(pair.client.send_cq).wr_id == 7);
}

TEST_CASE("inline data is copied at once, from memory that need not be registered") {
  Pair pair;
  char text[] = "inline";
  const ibv_sge sge{reinterpret_cast<std::uint64_t>(text), 6, 0xdeadbeef};
  const Buffer in(pair.server.pd.get(), 64);
  REQUIRE(pair.client.send(sge, IBV_SEND_SIGNALED | IBV_SEND_INLINE) == 0);
  std::memset(text, '?', 6);
  REQUIRE(pair.server.receive(in.sge()) == 0);
  const auto wc = End::done(pair.server.receive_cq);
  CHECK(in.text(wc.byte_len) == "inline");
  End::done(pair.client.send_cq);

  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  REQUIRE(ibv_query_qp(pair.client.id->qp, &attr, IBV_QP_CAP, &init) == 0);
  const std::vector<char> large(init.cap.max_inline_data + 1);
  const ibv_sge too_large{reinterpret_cast<std::uint64_t>(large.data()),
                          static_cast<std::uint32_t>(large.size()), 0};
  CHECK(pair.client.send(too_large, IBV_SEND_INLINE) == EINVAL);
}

TEST_CASE("a message waits for its receive") {
  Pair pair;
  const Buffer out(pair.client.pd.get(), "early");
  REQUIRE(pair.client.send(out.sge()) == 0);
  // The message has been sent, but the peer has not posted a receive for it.
  End::done(pair.client.send_cq);
  const Buffer in(pair.server.pd.get(), 64);
  REQUIRE(pair.server.receive(in.sge()) == 0);
  const auto wc = End::done(pair.server.receive_cq);
  CHECK(in.text(wc.byte_len) == "early");
}

TEST_CASE("a wrong local key fails the request and does not crash the program") {
  Pair pair;
  const Buffer out(pair.client.pd.get(), "x");
  ibv_sge sge = out.sge();
  sge.lkey ^= 0x100;
  const int error = pair.client.send(sge);
  if (error != 0) {
    CHECK(error == EINVAL);
  } else {
    CHECK(End::next(pair.client.send_cq).status == IBV_WC_LOC_PROT_ERR);
  }
}

TEST_CASE("requests that are staged and abandoned block no thread") {
  const Context context = open_device();
  const Pd pd(ibv_alloc_pd(context.get()));
  const Cq cq(ibv_create_cq(context.get(), 64, nullptr, nullptr, 0));
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = cq.get();
  init.cap = {4, 4, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = pd.get();
  init.send_ops_flags = IBV_QP_EX_WITH_SEND;
  const Qp qp(ibv_create_qp_ex(context.get(), &init));
  REQUIRE(qp);
  ibv_qp_ex* const staged = ibv_qp_to_qp_ex(qp.get());
  REQUIRE(staged != nullptr);
  ibv_wr_start(staged);
  ibv_wr_send(staged);  // No ibv_wr_complete() follows.

  // Both another thread and this thread can still use the queue pair.
  std::thread other([&] {
    ibv_qp_attr attr{.qp_state = IBV_QPS_INIT, .port_num = 1};
    const int what = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    CHECK(ibv_modify_qp(qp.get(), &attr, what) == 0);
    const Buffer in(pd.get(), 64);
    ibv_sge sge = in.sge();
    ibv_recv_wr wr{.sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    CHECK(ibv_post_recv(qp.get(), &wr, &bad) == 0);
  });
  other.join();
  ibv_wr_start(staged);
  ibv_wr_abort(staged);
}

TEST_CASE("unknown send operations are refused") {
  const Context context = open_device();
  const Pd pd(ibv_alloc_pd(context.get()));
  const Cq cq(ibv_create_cq(context.get(), 64, nullptr, nullptr, 0));
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = cq.get();
  init.cap = {4, 4, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = pd.get();
  init.send_ops_flags = std::uint64_t{1} << 60;
  errno = 0;
  const Qp qp(ibv_create_qp_ex(context.get(), &init));
  CHECK_FALSE(qp);
  CHECK((errno == EOPNOTSUPP || errno == EINVAL));
}

TEST_CASE("numbers without an enumerator are refused") {
  constexpr int kNone = 28836;
  rdma_cm_id* id = nullptr;
  CHECK(rdma_create_id(nullptr, &id, nullptr, std::bit_cast<rdma_port_space>(kNone)) == -1);
  CHECK(errno == EPROTONOSUPPORT);

  const Context context = open_device();
  const Pd pd(ibv_alloc_pd(context.get()));
  const Cq cq(ibv_create_cq(context.get(), 64, nullptr, nullptr, 0));
  ibv_qp_init_attr init{.send_cq = cq.get(), .recv_cq = cq.get(), .cap = {1, 1, 1, 1, 0}};
  init.qp_type = std::bit_cast<ibv_qp_type>(kNone);
  errno = 0;
  CHECK(ibv_create_qp(pd.get(), &init) == nullptr);
  CHECK(errno == EOPNOTSUPP);

  init.qp_type = IBV_QPT_RC;
  const Qp qp(ibv_create_qp(pd.get(), &init));
  REQUIRE(qp);
  ibv_qp_attr attr{};
  attr.qp_state = std::bit_cast<ibv_qp_state>(kNone);
  CHECK(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE) == EINVAL);
  CHECK(qp->state == IBV_QPS_RESET);
  CHECK(std::string(ibv_wc_status_str(std::bit_cast<ibv_wc_status>(kNone))) == "unknown");
}

}  // namespace
