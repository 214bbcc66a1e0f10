// SPDX-License-Identifier: Apache-2.0
// Tests each operation from ibv_post_send() to the completions at both ends.
#include <array>

#include "support.hpp"

using namespace data;

TEST_CASE("a Send is placed in the receive that was posted first") {
  Pair pair;
  REQUIRE_EQ(pair.b.post_recv(7, 100, 64), 0);
  pair.a.write(0, "hello, world");
  REQUIRE_EQ(pair.a.post({.wr_id = 3, .opcode = IBV_WR_SEND}, 0, 12), 0);
  const ibv_wc sent = success(pair.a.cq);
  CHECK_EQ(sent.wr_id, 3);
  CHECK_EQ(sent.opcode, IBV_WC_SEND);
  CHECK_EQ(sent.qp_num, pair.a.qp->qp_num);
  const ibv_wc got = success(pair.b.cq);
  CHECK_EQ(got.wr_id, 7);
  CHECK_EQ(got.opcode, IBV_WC_RECV);
  CHECK_EQ(got.byte_len, 12);
  CHECK_EQ(got.wc_flags, 0);
  CHECK_EQ(got.qp_num, pair.b.qp->qp_num);
  CHECK_EQ(pair.b.text(100, 12), "hello, world");
}

TEST_CASE("RDMA Write and Read move octets and complete with their opcodes") {
  Pair pair;
  pair.a.write(0, "written");
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_WRITE, pair.b, 0, 7, 500), 0);
  CHECK_EQ(success(pair.a.cq).opcode, IBV_WC_RDMA_WRITE);
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_READ, pair.b, 1000, 7, 500), 0);
  const ibv_wc read = success(pair.a.cq);
  CHECK_EQ(read.opcode, IBV_WC_RDMA_READ);
  CHECK_EQ(read.byte_len, 7);
  CHECK_EQ(pair.a.text(1000, 7), "written");
}

TEST_CASE("an RDMA Write with immediate data reports its length and the data") {
  Pair pair;
  REQUIRE_EQ(pair.b.post_recv(9), 0);
  pair.a.write(0, "12345");
  ibv_send_wr wr{.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htobe32(0x01020304)};
  wr.wr.rdma = {.remote_addr = pair.b.remote(50), .rkey = pair.b.mr->rkey};
  REQUIRE_EQ(pair.a.post(wr, 0, 5), 0);
  CHECK_EQ(success(pair.a.cq).opcode, IBV_WC_RDMA_WRITE);
  const ibv_wc got = success(pair.b.cq);
  CHECK_EQ(got.wr_id, 9);
  CHECK_EQ(got.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  CHECK_EQ(got.wc_flags, IBV_WC_WITH_IMM);
  CHECK_EQ(be32toh(got.imm_data), 0x01020304);
  CHECK_EQ(got.byte_len, 5);
  CHECK_EQ(pair.b.text(50, 5), "12345");
}

TEST_CASE("an empty Write with immediate data is not reported as a Send") {
  Pair pair;
  REQUIRE_EQ(pair.b.post_recv(1), 0);
  REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = 5}), 0);
  const ibv_wc got = success(pair.b.cq);
  CHECK_EQ(got.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  CHECK_EQ(got.imm_data, 5);
  CHECK_EQ(got.byte_len, 0);
}

TEST_CASE("a Send with immediate data needs no payload") {
  Pair pair;
  REQUIRE_EQ(pair.b.post_recv(1, 0, 64), 0);
  REQUIRE_EQ(
      pair.a.post({.opcode = IBV_WR_SEND_WITH_IMM, .send_flags = IBV_SEND_INLINE, .imm_data = 6}),
      0);
  const ibv_wc got = success(pair.b.cq);
  CHECK_EQ(got.opcode, IBV_WC_RECV);
  CHECK_EQ(got.wc_flags, IBV_WC_WITH_IMM);
  CHECK_EQ(got.imm_data, 6);
  CHECK_EQ(got.byte_len, 0);
  CHECK_EQ(success(pair.a.cq).opcode, IBV_WC_SEND);
}

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

TEST_CASE("a window of type 2 grants access to memory until it is invalidated") {
  Pair pair;
  ibv_mw* mw = must(ibv_alloc_mw(pair.b.pd, IBV_MW_TYPE_2));
  const std::uint32_t rkey = ibv_inc_rkey(mw->rkey);
  ibv_send_wr bind{.wr_id = 1, .opcode = IBV_WR_BIND_MW};
  bind.bind_mw = {.mw = mw,
                  .rkey = rkey,
                  .bind_info = {.mr = pair.b.mr,
                                .addr = pair.b.remote(0),
                                .length = 100,
                                .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
  REQUIRE_EQ(pair.b.post(bind), 0);
  CHECK_EQ(success(pair.b.cq).opcode, IBV_WC_BIND_MW);
  pair.a.write(0, "window");
  ibv_send_wr write{.opcode = IBV_WR_RDMA_WRITE};
  write.wr.rdma = {.remote_addr = pair.b.remote(10), .rkey = rkey};
  REQUIRE_EQ(pair.a.post(write, 0, 6), 0);
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
  REQUIRE_EQ(pair.a.post(write, 0, 6), 0);
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_READ, pair.b, 0, 8, 0), 0);
  // The rkey is no longer valid, so the peer answers the Write with a Terminate.
  CHECK_EQ(next(pair.a.cq).status, is_acknowledged() ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS);
  CHECK_NE(next(pair.a.cq).status, IBV_WC_SUCCESS);
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

TEST_CASE("a window of type 1 is bound, bound again, and unbound") {
  Pair pair;
  ibv_mw* mw = must(ibv_alloc_mw(pair.b.pd, IBV_MW_TYPE_1));
  ibv_mw_bind bind{.wr_id = 4,
                   .send_flags = IBV_SEND_SIGNALED,
                   .bind_info = {.mr = pair.b.mr,
                                 .addr = pair.b.remote(0),
                                 .length = 100,
                                 .mw_access_flags = IBV_ACCESS_REMOTE_READ}};
  std::uint32_t before = mw->rkey;
  for (int i = 0; i < 2; ++i) {
    REQUIRE_EQ(ibv_bind_mw(pair.b.qp, mw, &bind), 0);
    CHECK_NE(mw->rkey, before);
    before = mw->rkey;
    const ibv_wc bound = success(pair.b.cq);
    CHECK_EQ(bound.wr_id, 4);
    CHECK_EQ(bound.opcode, IBV_WC_BIND_MW);
    pair.b.write(0, "to be read");
    ibv_send_wr read{.opcode = IBV_WR_RDMA_READ};
    read.wr.rdma = {.remote_addr = pair.b.remote(0), .rkey = mw->rkey};
    REQUIRE_EQ(pair.a.post(read, 300, 10), 0);
    success(pair.a.cq);
    CHECK_EQ(pair.a.text(300, 10), "to be read");
  }
  bind.bind_info = {};
  REQUIRE_EQ(ibv_bind_mw(pair.b.qp, mw, &bind), 0);
  CHECK_EQ(success(pair.b.cq).opcode, IBV_WC_BIND_MW);
  REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_READ, pair.b, 300, 10, 0), 0);
  success(pair.a.cq);
  ibv_send_wr read{.opcode = IBV_WR_RDMA_READ};
  read.wr.rdma = {.remote_addr = pair.b.remote(0), .rkey = mw->rkey};
  REQUIRE_EQ(pair.a.post(read, 300, 10), 0);
  CHECK_EQ(next(pair.a.cq).status, IBV_WC_REM_ACCESS_ERR);
  CHECK_EQ(ibv_dealloc_mw(mw), 0);
}

TEST_CASE("operations that iWARP has no message for are refused") {
  End end;
  CHECK_EQ(end.post({.opcode = IBV_WR_TSO}), EOPNOTSUPP);
  CHECK_EQ(end.post({.opcode = IBV_WR_ATOMIC_WRITE}), EOPNOTSUPP);
  CHECK_EQ(end.post({.opcode = IBV_WR_DRIVER1}), EINVAL);
}

namespace {

/// Three requests, of which the third has a wrong key.
struct ThirdIsWrong {
  ThirdIsWrong(End& end, const End& peer, ibv_wr_opcode opcode) {
    for (std::size_t i = 0; i < wrs.size(); ++i) {
      sges[i] = end.sge(64 * i, 8);
      wrs[i] = {.wr_id = i, .sg_list = &sges[i], .num_sge = 1, .opcode = opcode};
      wrs[i].wr.rdma = {.remote_addr = peer.remote(1000 + 64 * i), .rkey = peer.mr->rkey};
    }
    (opcode == IBV_WR_RDMA_READ ? wrs[2].wr.rdma.rkey : sges[2].lkey) ^= 0xFF00;
  }
  void post(End& end, bool as_list) {
    for (std::size_t i = 0; i < wrs.size(); ++i) {
      wrs[i].next = as_list && i + 1 < wrs.size() ? &wrs[i + 1] : nullptr;
    }
    ibv_send_wr* bad = nullptr;
    for (auto& wr : std::span(wrs).first(as_list ? 1 : wrs.size())) {
      REQUIRE_EQ(ibv_post_send(end.qp, &wr, &bad), 0);
    }
  }
  std::array<ibv_sge, 3> sges{};
  std::array<ibv_send_wr, 3> wrs{};
};

}  // namespace

TEST_CASE("the requests before one that fails are carried out, posted as a list or one by one") {
  for (const bool as_list : {true, false}) {
    for (const auto opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
      CAPTURE(as_list);
      CAPTURE(static_cast<int>(opcode));
      Options own_cq;
      own_cq.own_receive_cq = true;
      Pair pair({}, own_cq);
      const bool reads = opcode == IBV_WR_RDMA_READ;
      for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE_EQ(pair.b.post_recv(i, 2000 + 64 * i, 64), 0);
        pair.a.write(64 * i, "request" + std::to_string(i));
        pair.b.write(1000 + 64 * i, "answer " + std::to_string(i));
      }
      ThirdIsWrong(pair.a, pair.b, opcode).post(pair.a, as_list);
      CHECK_EQ(success(pair.a.cq).wr_id, 0);
      CHECK_EQ(success(pair.a.cq).wr_id, 1);
      CHECK_EQ(next(pair.a.cq).status, reads ? IBV_WC_REM_ACCESS_ERR : IBV_WC_LOC_PROT_ERR);
      for (std::size_t i = 0; i < 2; ++i) {
        const auto last = std::to_string(i);
        if (opcode == IBV_WR_SEND) {
          CHECK_EQ(success(pair.b.receive_cq).wr_id, i);
          CHECK_EQ(pair.b.text(2000 + 64 * i, 8), "request" + last);
        }
        if (reads) CHECK_EQ(pair.a.text(64 * i, 8), "answer " + last);
      }
    }
  }
}

TEST_CASE("a receive may be longer than its region if the message is not") {
  for (const bool shared : {true, false}) {
    Options options;
    options.shared_receives = shared;
    Pair pair({}, options);
    const std::size_t end = pair.b.buffer.size();
    REQUIRE_EQ(pair.b.post_recv(1, end - 1, 4), 0);
    REQUIRE_EQ(pair.b.post_recv(2, end - 1, 4), 0);
    for (const std::size_t length : {1U, 2U}) {
      REQUIRE_EQ(pair.a.post({.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, 0, length),
                 0);
      const ibv_wc got = next(pair.b.cq);
      CHECK_EQ(got.wr_id, length);
      CHECK_EQ(got.status, length == 1 ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
    }
  }
}

TEST_CASE("an operation that the access flags of the queue pair forbid is an invalid request") {
  for (const auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    End a;
    End b;
    a.bring_up(b.qp);
    b.bring_up(a.qp, IBV_ACCESS_LOCAL_WRITE);
    REQUIRE_EQ(a.post_rdma(opcode, b, 0, 8, 0), 0);
    const bool is_sent = opcode == IBV_WR_RDMA_WRITE && !is_acknowledged();
    CHECK_EQ(next(a.cq).status, is_sent ? IBV_WC_SUCCESS : IBV_WC_REM_INV_REQ_ERR);
  }
}

TEST_CASE("max_dest_rd_atomic is reported as set, and 0 refuses Reads and atomics") {
  for (const std::uint8_t depth : std::array<std::uint8_t, 2>{0, 4}) {
    End a;
    End b;
    ibv_qp_attr attr = rdma_core_test::rc_attributes(a.context, b.qp, End::kAllRights, 3);
    a.VerbsEnd::bring_up(attr);
    attr = rdma_core_test::rc_attributes(b.context, a.qp, End::kAllRights, 3);
    attr.max_dest_rd_atomic = depth;
    b.VerbsEnd::bring_up(attr);
    REQUIRE_EQ(a.post_rdma(IBV_WR_RDMA_WRITE, b, 0, 8, 0), 0);
    success(a.cq);
    REQUIRE_EQ(a.post_rdma(IBV_WR_RDMA_READ, b, 0, 8, 0), 0);
    CHECK_EQ(next(a.cq).status, depth == 0 ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_SUCCESS);
    ibv_qp_init_attr init{};
    REQUIRE_EQ(ibv_query_qp(b.qp, &attr, IBV_QP_MAX_DEST_RD_ATOMIC, &init), 0);
    CHECK_EQ(attr.max_dest_rd_atomic, depth);
    CHECK_EQ(attr.max_rd_atomic, 3);
  }
}
