// SPDX-License-Identifier: Apache-2.0
// Tests requests that are built with ibv_wr_*().
#include <array>
#include <thread>

#include "support.hpp"

using namespace data;

namespace {

Options extended() {
  Options options;
  options.extended = true;
  options.cap.max_send_wr = 8;
  return options;
}

ibv_qp_ex* builder(End& end) { return must(ibv_qp_to_qp_ex(end.qp)); }

void begin(ibv_qp_ex* qp, std::uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
  qp->wr_id = id;
  qp->wr_flags = flags;
}

void set_sge(ibv_qp_ex* qp, const ibv_sge& sge) {
  ibv_wr_set_sge(qp, sge.lkey, sge.addr, sge.length);
}

}  // namespace

// [IBV-409, IBV-571]
TEST_CASE("a queue pair has builders only if the program requested them") {
  End plain;
  CHECK_EQ(ibv_qp_to_qp_ex(plain.qp), nullptr);
  End with(extended());
  CHECK_NE(ibv_qp_to_qp_ex(with.qp), nullptr);
}

// [IBV-545, IBV-546, IBV-550, IBV-553, IBV-554, IBV-556, IBV-557, IBV-558, IBV-559, IBV-560,
// IBV-564]
TEST_CASE("all kinds of requests are posted with the last call") {
  Pair pair(extended());
  ibv_qp_ex* qp = builder(pair.a);
  pair.a.write(0, "abcdef");
  pair.b.word(64) = 10;
  REQUIRE_EQ(pair.b.post_recv(100, 200, 16), 0);
  REQUIRE_EQ(pair.b.post_recv(101), 0);
  REQUIRE_EQ(pair.b.post_recv(102), 0);
  ibv_wr_start(qp);
  begin(qp, 1);
  ibv_wr_rdma_write(qp, pair.b.mr->rkey, pair.b.remote(0));
  set_sge(qp, pair.a.sge(0, 3));
  begin(qp, 2);
  ibv_wr_send(qp);
  const std::array<ibv_sge, 2> sges{pair.a.sge(3, 1), pair.a.sge(5, 1)};
  ibv_wr_set_sge_list(qp, sges.size(), sges.data());
  begin(qp, 3);
  ibv_wr_rdma_write_imm(qp, pair.b.mr->rkey, pair.b.remote(10), 30);
  set_sge(qp, pair.a.sge(0, 6));
  begin(qp, 4);
  ibv_wr_send_imm(qp, 40);
  begin(qp, 5);
  ibv_wr_atomic_fetch_add(qp, pair.b.mr->rkey, pair.b.remote(64), 5);
  set_sge(qp, pair.a.sge(64, 8));
  begin(qp, 6);
  ibv_wr_atomic_cmp_swp(qp, pair.b.mr->rkey, pair.b.remote(64), 15, 3);
  set_sge(qp, pair.a.sge(72, 8));
  begin(qp, 7, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
  ibv_wr_rdma_read(qp, pair.b.mr->rkey, pair.b.remote(0));
  set_sge(qp, pair.a.sge(300, 16));
  CHECK(is_empty(pair.a.cq));
  REQUIRE_EQ(ibv_wr_complete(qp), 0);
  for (std::uint64_t id = 1; id <= 7; ++id) CHECK_EQ(success(pair.a.cq).wr_id, id);
  CHECK_EQ(pair.a.text(300, 3), "abc");
  CHECK_EQ(pair.a.text(310, 6), "abcdef");
  CHECK_EQ(pair.a.word(64), 10);
  CHECK_EQ(pair.a.word(72), 15);
  CHECK_EQ(pair.b.word(64), 3);
  const ibv_wc send = success(pair.b.cq);
  CHECK_EQ(send.wr_id, 100);
  CHECK_EQ(send.byte_len, 2);
  CHECK_EQ(pair.b.text(200, 2), "df");
  CHECK_EQ(success(pair.b.cq).imm_data, 30);
  CHECK_EQ(success(pair.b.cq).imm_data, 40);
}

// [IBV-565]
TEST_CASE("inline payload may be reused before the last call") {
  Pair pair(extended());
  ibv_qp_ex* qp = builder(pair.a);
  REQUIRE_EQ(pair.b.post_recv(1, 0, 32), 0);
  REQUIRE_EQ(pair.b.post_recv(2, 32, 32), 0);
  ibv_wr_start(qp);
  begin(qp, 1);
  ibv_wr_send(qp);
  std::string text = "first";
  ibv_wr_set_inline_data(qp, text.data(), text.size());
  text = "other";
  begin(qp, 2);
  ibv_wr_send(qp);
  std::string tail = " two";
  const std::array<ibv_data_buf, 2> list{ibv_data_buf{text.data(), 5},
                                         ibv_data_buf{tail.data(), 4}};
  ibv_wr_set_inline_data_list(qp, list.size(), list.data());
  text = "xxxxx";
  REQUIRE_EQ(ibv_wr_complete(qp), 0);
  CHECK_EQ(success(pair.b.cq).byte_len, 5);
  CHECK_EQ(success(pair.b.cq).byte_len, 9);
  CHECK_EQ(pair.b.text(0, 5), "first");
  CHECK_EQ(pair.b.text(32, 9), "other two");
}

TEST_CASE("the builder of an unsupported operation is null") {
  Pair pair(extended());
  // Because this pointer is null, librpma uses another operation.
  CHECK((builder(pair.a)->wr_atomic_write == nullptr));
}

// [IBV-548, IBV-549, IBV-563, IBV-566, IBV-567, IBV-569, IBV-573]
TEST_CASE("either all built requests are posted, or none") {
  Pair pair(extended());
  ibv_qp_ex* qp = builder(pair.a);
  int expected = EINVAL;
  ibv_wr_start(qp);
  begin(qp, 1);
  ibv_wr_rdma_write(qp, pair.b.mr->rkey, pair.b.remote(0));
  set_sge(qp, pair.a.sge(0, 8));
  SUBCASE("an atomic without a buffer") {
    ibv_wr_atomic_fetch_add(qp, pair.b.mr->rkey, pair.b.remote(64), 5);
  }
  SUBCASE("the address of a datagram") { ibv_wr_set_ud_addr(qp, nullptr, 1, 1); }
  SUBCASE("the shared receive queue of an XRC message") { ibv_wr_set_xrc_srqn(qp, 1); }
  SUBCASE("too much inline payload") {
    ibv_wr_send(qp);
    ibv_wr_set_inline_data(qp, pair.a.buffer.data(), 129);
  }
  SUBCASE("too many buffers") {
    ibv_wr_send(qp);
    const std::array<ibv_sge, 17> sges{};
    ibv_wr_set_sge_list(qp, sges.size(), sges.data());
  }
  SUBCASE("an operation that iWARP does not have") {
    expected = EOPNOTSUPP;
    ibv_wr_send_tso(qp, &expected, sizeof expected, 1024);
  }
  SUBCASE("more than the queue has room for") {
    expected = ENOMEM;
    for (int i = 0; i < 8; ++i) ibv_wr_send(qp);
  }
  CHECK_EQ(ibv_wr_complete(qp), expected);
  // Requests that are built after the failed list are posted as usual.
  ibv_wr_start(qp);
  begin(qp, 2);
  ibv_wr_rdma_read(qp, pair.b.mr->rkey, pair.b.remote(0));
  set_sge(qp, pair.a.sge(0, 8));
  REQUIRE_EQ(ibv_wr_complete(qp), 0);
  CHECK_EQ(success(pair.a.cq).wr_id, 2);
}

// [IBV-547]
TEST_CASE("a list that was begun is aborted or abandoned without harm") {
  Pair pair(extended());
  ibv_qp_ex* qp = builder(pair.a);
  ibv_wr_start(qp);
  begin(qp, 1);
  ibv_wr_send(qp);
  SUBCASE("aborted") { ibv_wr_abort(qp); }
  SUBCASE("abandoned") {}
  const auto read = [&] {
    ibv_wr_start(qp);
    begin(qp, 2);
    ibv_wr_rdma_read(qp, pair.b.mr->rkey, pair.b.remote(0));
    set_sge(qp, pair.a.sge(0, 8));
    CHECK_EQ(ibv_wr_complete(qp), 0);
  };
  SUBCASE("and another thread continues") {
    std::thread([&] {
      CHECK_EQ(pair.a.modify(IBV_QPS_RTS), 0);
      CHECK_EQ(pair.a.post_recv(3, 0, 8), 0);
      read();
    }).join();
  }
  SUBCASE("and the same thread continues") { read(); }
  if (qp->wr_id == 1) read();
  CHECK_EQ(success(pair.a.cq).wr_id, 2);
}
