// SPDX-License-Identifier: Apache-2.0
// Tests lists of ibv_wr_*() that are refused as a whole or abandoned.
#include <thread>

#include "support.hpp"

using namespace data;

namespace {

const Options kBuilders{.extended = true};

ibv_qp_ex* builder(End& end) { return must(ibv_qp_to_qp_ex(end.qp)); }

void begin(ibv_qp_ex* qp, std::uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
  qp->wr_id = id;
  qp->wr_flags = flags;
}

void set_sge(ibv_qp_ex* qp, const ibv_sge& sge) {
  ibv_wr_set_sge(qp, sge.lkey, sge.addr, sge.length);
}

}  // namespace

TEST_CASE("the builder of an unsupported operation is null") {
  Pair pair(kBuilders);
  // Because this pointer is null, librpma uses another operation.
  CHECK((builder(pair.a)->wr_atomic_write == nullptr));
}

// [IBV-548, IBV-549, IBV-563, IBV-566, IBV-567, IBV-569, IBV-573]
TEST_CASE("either all built requests are posted, or none") {
  Pair pair(kBuilders);
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
  SUBCASE("an operation that iWARP does not have") {
    expected = EOPNOTSUPP;
    ibv_wr_send_tso(qp, &expected, sizeof expected, 1024);
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
  Pair pair(kBuilders);
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
