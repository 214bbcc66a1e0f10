// SPDX-License-Identifier: Apache-2.0
// Tests each operation from ibv_post_send() to the completions at both ends.
#include <array>

#include "support.hpp"

using namespace data;

// [IBV-278, IBV-281, IBV-515, IBV-516, IBV-518, IBV-301]
TEST_CASE("atomics add and swap, and return the old value in host byte order") {
  Pair pair;
  pair.b.word(64) = 1000;
  ibv_send_wr wr{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};
  wr.wr.atomic = {.remote_addr = pair.b.remote(64), .compare_add = 5, .rkey = pair.b.mr->rkey};
  REQUIRE_EQ(pair.a.post(wr, 8, 8), 0);
  CHECK_EQ(success(pair.a.cq).opcode, IBV_WC_FETCH_ADD);
  CHECK_EQ(pair.a.word(8), 1000);
  CHECK_EQ(pair.b.word(64), 1005);
  wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  wr.wr.atomic.compare_add = 1005;
  wr.wr.atomic.swap = 77;
  REQUIRE_EQ(pair.a.post(wr, 16, 8), 0);
  const ibv_wc swapped = success(pair.a.cq);
  CHECK_EQ(swapped.opcode, IBV_WC_COMP_SWAP);
  CHECK_EQ(swapped.byte_len, 8);
  CHECK_EQ(pair.a.word(16), 1005);
  CHECK_EQ(pair.b.word(64), 77);
  // If the comparison fails, nothing is swapped. The local buffer may be longer than the 8-byte
  // word.
  REQUIRE_EQ(pair.a.post(wr, 24, 32), 0);
  success(pair.a.cq);
  CHECK_EQ(pair.a.word(24), 77);
  CHECK_EQ(pair.b.word(64), 77);
  CHECK_EQ(pair.a.post(wr, 24, 4), EINVAL);
  CHECK_EQ(pair.a.post(wr), EINVAL);
}

// [IBV-185, IBV-186, IBV-284, IBV-519, IBV-520, IBV-521]
TEST_CASE("a window of type 2 grants access to memory until it is invalidated") {
  Pair pair;
  ibv_mw* mw = must(ibv_alloc_mw(pair.b.pd, IBV_MW_TYPE_2));
  const auto rkey = pair.b.bind(mw, pair.b.first(100, IBV_ACCESS_REMOTE_WRITE));
  const auto write = [&] {
    return pair.a.post_to(IBV_WR_RDMA_WRITE, pair.b.remote(10), rkey, 0, 6);
  };
  pair.a.write(0, "window");
  REQUIRE_EQ(write(), 0);
  success(pair.a.cq);

  SUBCASE("by its owner") {
    REQUIRE_EQ(pair.b.post_recv(1, 200, 8), 0);
    REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND}, 0, 1), 0);
    success(pair.a.cq);
    success(pair.b.cq);
    CHECK_EQ(pair.b.text(10, 6), "window");
    REQUIRE_EQ(pair.b.post({.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = rkey}), 0);
    CHECK_EQ(success(pair.b.cq).opcode, IBV_WC_LOCAL_INV);
  }
  SUBCASE("by the peer's Send") {
    REQUIRE_EQ(pair.b.post_recv(1, 200, 8), 0);
    REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = rkey}, 0, 1), 0);
    success(pair.a.cq);
    const ibv_wc got = success(pair.b.cq);
    CHECK_EQ(pair.b.text(10, 6), "window");
    CHECK_EQ(got.wc_flags, IBV_WC_WITH_INV);
    CHECK_EQ(got.invalidated_rkey, rkey);
  }
  REQUIRE_EQ(write(), 0);
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_READ, pair.b, 0, 8, 0), 0);
  // The rkey is no longer valid, so the peer answers the Write with a Terminate.
  CHECK_EQ(next(pair.a.cq).status, is_acknowledged() ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS);
  CHECK_NE(next(pair.a.cq).status, IBV_WC_SUCCESS);
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

// [IBV-184, IBV-189, IBV-190]
TEST_CASE("a window of type 1 is bound, bound again, and unbound") {
  Pair pair;
  ibv_mw* mw = must(ibv_alloc_mw(pair.b.pd, IBV_MW_TYPE_1));
  ibv_mw_bind bind{.wr_id = 4,
                   .send_flags = IBV_SEND_SIGNALED,
                   .bind_info = pair.b.first(100, IBV_ACCESS_REMOTE_READ)};
  const auto read = [&] {
    return pair.a.post_to(IBV_WR_RDMA_READ, pair.b.remote(0), mw->rkey, 300, 10);
  };
  std::uint32_t before = mw->rkey;
  for (int i = 0; i < 2; ++i) {
    REQUIRE_EQ(ibv_bind_mw(pair.b.qp, mw, &bind), 0);
    CHECK_NE(mw->rkey, before);
    before = mw->rkey;
    const ibv_wc bound = success(pair.b.cq);
    CHECK_EQ(bound.wr_id, 4);
    CHECK_EQ(bound.opcode, IBV_WC_BIND_MW);
    pair.b.write(0, "to be read");
    REQUIRE_EQ(read(), 0);
    success(pair.a.cq);
    CHECK_EQ(pair.a.text(300, 10), "to be read");
  }
  bind.bind_info = {};
  REQUIRE_EQ(ibv_bind_mw(pair.b.qp, mw, &bind), 0);
  CHECK_EQ(success(pair.b.cq).opcode, IBV_WC_BIND_MW);
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_READ, pair.b, 300, 10, 0), 0);
  success(pair.a.cq);
  REQUIRE_EQ(read(), 0);
  CHECK_EQ(next(pair.a.cq).status, IBV_WC_REM_ACCESS_ERR);
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

// [IBV-506]
TEST_CASE("operations that iWARP has no message for are refused") {
  End end;
  CHECK_EQ(end.post({.opcode = IBV_WR_TSO}), EOPNOTSUPP);
  CHECK_EQ(end.post({.opcode = IBV_WR_ATOMIC_WRITE}), EOPNOTSUPP);
  CHECK_EQ(end.post({.opcode = IBV_WR_DRIVER1}), EINVAL);
}

// [IBV-477]
TEST_CASE("max_dest_rd_atomic is reported as set, and 0 refuses Reads and atomics") {
  for (const std::uint8_t depth : std::array<std::uint8_t, 2>{0, 4}) {
    End a;
    End b;
    a.VerbsEnd::bring_up(rc_attributes(a.context, b.qp, End::kAllRights, 3));
    ibv_qp_attr attr = rc_attributes(b.context, a.qp, End::kAllRights, 3);
    attr.max_dest_rd_atomic = depth;
    b.VerbsEnd::bring_up(attr);
    REQUIRE_EQ(a.post_rdma(IBV_WR_RDMA_WRITE, b, 0, 8, 0), 0);
    success(a.cq);
    REQUIRE_EQ(a.post_rdma(IBV_WR_RDMA_READ, b, 0, 8, 0), 0);
    CHECK_EQ(next(a.cq).status, depth == 0 ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_SUCCESS);
    attr = query(b.qp);
    CHECK_EQ(attr.max_dest_rd_atomic, depth);
    CHECK_EQ(attr.max_rd_atomic, 3);
  }
}
