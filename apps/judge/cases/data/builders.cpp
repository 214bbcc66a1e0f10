// SPDX-License-Identifier: Apache-2.0
// Cases about the builders, ibv_wr_start() to ibv_wr_complete(): each does the same as
// ibv_post_send() with the corresponding opcode, and a list is posted as a whole or not at all.
#include <fmt/format.h>

#include "judge/cases/cases.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::data_builders {
namespace {

constexpr std::size_t kRemote = 4096;
constexpr std::uint32_t kLength = 64;
constexpr std::uint32_t kImm = 0x04030201;

EndOptions with_builders(std::uint64_t operations) {
  EndOptions options = with_inline(32);
  options.send_ops = operations;
  return options;
}

/// The builder and the flag of an opcode.
void build(ibv_qp_ex* qp, const ibv_send_wr& wr) {
  const auto& rdma = wr.wr.rdma;
  const auto& atomic = wr.wr.atomic;
  switch (wr.opcode) {
    case IBV_WR_SEND:
      return ibv_wr_send(qp);
    case IBV_WR_SEND_WITH_IMM:
      return ibv_wr_send_imm(qp, wr.imm_data);
    case IBV_WR_RDMA_WRITE:
      return ibv_wr_rdma_write(qp, rdma.rkey, rdma.remote_addr);
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return ibv_wr_rdma_write_imm(qp, rdma.rkey, rdma.remote_addr, wr.imm_data);
    case IBV_WR_RDMA_READ:
      return ibv_wr_rdma_read(qp, rdma.rkey, rdma.remote_addr);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return ibv_wr_atomic_cmp_swp(qp, atomic.rkey, atomic.remote_addr, atomic.compare_add,
                                   atomic.swap);
    default:
      return ibv_wr_atomic_fetch_add(qp, atomic.rkey, atomic.remote_addr, atomic.compare_add);
  }
}

constexpr std::uint64_t flag_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
      return IBV_QP_EX_WITH_SEND;
    case IBV_WR_SEND_WITH_IMM:
      return IBV_QP_EX_WITH_SEND_WITH_IMM;
    case IBV_WR_RDMA_WRITE:
      return IBV_QP_EX_WITH_RDMA_WRITE;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    case IBV_WR_RDMA_READ:
      return IBV_QP_EX_WITH_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;
    default:
      return IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
  }
}

ibv_qp_ex* builders_of(Judge& j, End& end) {
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(end.qp.get());
  if (qp == nullptr) j.require_true("ibv_qp_to_qp_ex", false, "a pointer");
  return qp;
}

void add_send(ibv_qp_ex* qp, const End& end, std::uint64_t id, std::uint32_t length = 8) {
  qp->wr_id = id;
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(qp);
  ibv_wr_set_sge(qp, end.mr->lkey, end.address(), length);
}

/// What both ends see of a request that is posted in one of the two ways.
std::string effect(Judge& j, ibv_wr_opcode opcode, bool is_built) {
  const std::string way = is_built ? "ibv_wr_complete" : "ibv_post_send";
  Pair pair(j, with_builders(flag_of(opcode)));
  std::memset(pair.a.memory(), 'a', kLength);
  std::memset(pair.b.memory(kRemote), 'b', kLength);
  j.require(fmt::format("ibv_post_recv, {}", way), pair.b.post_recv(1, 0, kLength));
  auto wr = pair.a.request(2, opcode, pair.b, kRemote);
  wr.imm_data = kImm;
  if (is_atomic(opcode)) {
    wr.wr.atomic.compare_add = 0x6262626262626262;  // "bbbbbbbb"
    wr.wr.atomic.swap = 7;
  }
  const std::uint32_t length = is_atomic(opcode) ? 8 : kLength;
  if (is_built) {
    ibv_qp_ex* const qp = builders_of(j, pair.a);
    ibv_wr_start(qp);
    qp->wr_id = 2;
    qp->wr_flags = IBV_SEND_SIGNALED;
    build(qp, wr);
    ibv_wr_set_sge(qp, pair.a.mr->lkey, pair.a.address(), length);
    j.require(way, errno_of(ibv_wr_complete(qp)));
  } else {
    j.require(way, pair.a.post_send(wr, 0, length));
  }
  const ibv_wc sent = expect_done(j, fmt::format("the request, {}", way), pair.a.send_cq, 2);
  std::string out = fmt::format("opcode {}", static_cast<int>(sent.opcode));
  if (opcode == IBV_WR_RDMA_WRITE) {
    // Only a later message that consumes a receive makes the octets visible at the peer.
    j.require(fmt::format("ibv_post_send after {}", way),
              pair.a.post_send(pair.a.request(3, IBV_WR_SEND, pair.b)));
    expect_done(j, fmt::format("the receive after {}", way), pair.b.recv_cq, 1);
  }
  if (opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
      opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    const ibv_wc wc = expect_done(j, fmt::format("the receive, {}", way), pair.b.recv_cq, 1);
    out += fmt::format(", receive {} of {} flags {}", static_cast<int>(wc.opcode), wc.byte_len,
                       wc.wc_flags & IBV_WC_WITH_IMM);
    if ((wc.wc_flags & IBV_WC_WITH_IMM) != 0) out += fmt::format(" imm {:#x}", wc.imm_data);
  }
  out += " " + std::string(pair.a.memory(), kLength) + " " + std::string(pair.b.memory(), kLength);
  return out + " " + std::string(pair.b.memory(kRemote), kLength);
}

template <ibv_wr_opcode opcode>
void same_as_post_send(Judge& j) {
  const std::string built = effect(j, opcode, true);
  j.expect_true("both ways have the same effect", effect(j, opcode, false) == built,
                "the same completions and memory");
}

void list_in_order(Judge& j) {
  Pair pair(j, with_builders(IBV_QP_EX_WITH_SEND));
  ibv_qp_ex* const qp = builders_of(j, pair.a);
  post_receives(pair.b, 4);
  ibv_wr_start(qp);
  for (unsigned i = 0; i < 3; ++i) add_send(qp, pair.a, 10 + i, 8 + i);
  j.expect("ibv_wr_complete", errno_of(ibv_wr_complete(qp)));
  j.expect("ibv_post_send after it", pair.a.post_send(send_of(13), 0, 11));
  for (unsigned i = 0; i < 4; ++i) {
    expect_done(j, fmt::format("Send {}", i), pair.a.send_cq, 10 + i);
    const ibv_wc wc = expect_done(j, fmt::format("receive {}", i), pair.b.recv_cq, i);
    j.expect_equal(fmt::format("byte_len {}", i), wc.byte_len, 8 + i);
  }
}

// Nothing is sent before ibv_wr_complete(), nor after ibv_wr_abort().
void aborted(Judge& j) {
  Pair pair(j, with_builders(IBV_QP_EX_WITH_SEND));
  ibv_qp_ex* const qp = builders_of(j, pair.a);
  post_receives(pair.b, 2);
  ibv_wr_start(qp);
  add_send(qp, pair.a, 1);
  exchange_elsewhere(j);
  expect_empty(j, "no message before ibv_wr_complete", pair.b.recv_cq);
  ibv_wr_abort(qp);
  ibv_wr_start(qp);
  add_send(qp, pair.a, 2, 16);
  j.expect("ibv_wr_complete", errno_of(ibv_wr_complete(qp)));
  expect_done(j, "the Send of the second list", pair.a.send_cq, 2);
  const ibv_wc wc = expect_done(j, "its receive", pair.b.recv_cq, 0);
  j.expect_equal("byte_len", wc.byte_len, 16);
  expect_empty(j, "no other message", pair.b.recv_cq);
}

void empty_list(Judge& j) {
  Pair pair(j, with_builders(IBV_QP_EX_WITH_SEND));
  ibv_qp_ex* const qp = builders_of(j, pair.a);
  ibv_wr_start(qp);
  j.expect("ibv_wr_complete", errno_of(ibv_wr_complete(qp)));
  expect_empty(j, "no completion", pair.a.send_cq);
}

enum class Wrong { kBuffers, kInline };

// One wrong request, and the whole list is refused; the queue pair works as before.
template <Wrong what>
void refused_list(Judge& j) {
  Pair pair(j, with_builders(IBV_QP_EX_WITH_SEND));
  ibv_qp_ex* const qp = builders_of(j, pair.a);
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, 64));
  const auto cap = query(pair.a).cap;
  ibv_wr_start(qp);
  add_send(qp, pair.a, 1, 8);
  qp->wr_id = 2;
  ibv_wr_send(qp);
  if (what == Wrong::kBuffers) {
    const std::vector<ibv_sge> list(cap.max_send_sge + 1, pair.a.sge(0, 8));
    ibv_wr_set_sge_list(qp, list.size(), list.data());
  } else {
    ibv_wr_set_inline_data(qp, pair.a.memory(), cap.max_inline_data + 1);
  }
  add_send(qp, pair.a, 3, 8);
  const int code = errno_of(ibv_wr_complete(qp));
  j.expect("ibv_wr_complete", code, {EINVAL, ENOMEM});
  ibv_wr_start(qp);
  add_send(qp, pair.a, 4, 16);
  j.expect("ibv_wr_complete of the next list", errno_of(ibv_wr_complete(qp)));
  expect_done(j, "the Send of the next list", pair.a.send_cq, 4);
  const ibv_wc wc = expect_done(j, "its receive", pair.b.recv_cq, 1);
  j.expect_equal("byte_len", wc.byte_len, 16);
}

void full_queue(Judge& j) {
  Pair pair(j, with_builders(IBV_QP_EX_WITH_SEND));
  ibv_qp_ex* const qp = builders_of(j, pair.a);
  int code = 0;
  // The receiver has no receive, so no Send completes.
  for (unsigned i = 0; i < 1024 && code == 0; ++i) {
    ibv_wr_start(qp);
    add_send(qp, pair.a, i);
    code = errno_of(ibv_wr_complete(qp));
  }
  j.expect("ibv_wr_complete with a full queue", code, {ENOMEM});
}

void refused_state(Judge& j) {
  End end(j, with_builders(IBV_QP_EX_WITH_SEND));
  ibv_qp_ex* const qp = builders_of(j, end);
  for (const auto state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
    if (state != IBV_QPS_RESET) must(j, "ibv_modify_qp", step(end, state));
    ibv_wr_start(qp);
    add_send(qp, end, 1);
    j.expect(fmt::format("ibv_wr_complete in {}", state_name(state)), errno_of(ibv_wr_complete(qp)),
             {EINVAL});
  }
}

// Inline data is copied by the setter.
template <bool is_list>
void inline_data(Judge& j) {
  Pair pair(j, with_builders(IBV_QP_EX_WITH_SEND));
  ibv_qp_ex* const qp = builders_of(j, pair.a);
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, 64));
  std::array<char, 24> own{};
  own.fill('x');
  ibv_wr_start(qp);
  qp->wr_id = 2;
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(qp);
  if (is_list) {
    const std::array<ibv_data_buf, 2> list{
        {{.addr = own.data(), .length = 16}, {.addr = own.data() + 16, .length = 8}}};
    ibv_wr_set_inline_data_list(qp, list.size(), list.data());
  } else {
    ibv_wr_set_inline_data(qp, own.data(), own.size());
  }
  own.fill('y');
  j.require("ibv_wr_complete", errno_of(ibv_wr_complete(qp)));
  expect_done(j, "the Send", pair.a.send_cq, 2);
  const ibv_wc wc = expect_done(j, "the receive", pair.b.recv_cq, 1);
  j.expect_equal("byte_len", wc.byte_len, own.size());
  expect_bytes(j, "the message", pair.b.memory(), own.size(), 'x');
}

void buffer_list(Judge& j) {
  Pair pair(j, with_builders(IBV_QP_EX_WITH_SEND));
  ibv_qp_ex* const qp = builders_of(j, pair.a);
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, 64));
  std::memset(pair.a.memory(100), 'x', 16);
  std::memset(pair.a.memory(0), 'y', 8);
  const std::array list{pair.a.sge(100, 16), pair.a.sge(0, 8)};
  ibv_wr_start(qp);
  qp->wr_id = 2;
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(qp);
  ibv_wr_set_sge_list(qp, list.size(), list.data());
  j.require("ibv_wr_complete", errno_of(ibv_wr_complete(qp)));
  expect_done(j, "the receive", pair.b.recv_cq, 1);
  expect_bytes(j, "the first buffer", pair.b.memory(), 16, 'x');
  expect_bytes(j, "the second buffer", pair.b.memory(16), 8, 'y');
}

// wr_id and wr_flags count at the builder.
void flags_per_request(Judge& j) {
  Pair pair(j, with_builders(IBV_QP_EX_WITH_SEND));
  ibv_qp_ex* const qp = builders_of(j, pair.a);
  post_receives(pair.b, 3);
  ibv_wr_start(qp);
  for (unsigned i = 0; i < 3; ++i) {
    qp->wr_id = i;
    qp->wr_flags = i == 1 ? 0 : IBV_SEND_SIGNALED;
    ibv_wr_send(qp);
    qp->wr_id = 99;
    ibv_wr_set_sge(qp, pair.a.mr->lkey, pair.a.address(), 8);
  }
  j.require("ibv_wr_complete", errno_of(ibv_wr_complete(qp)));
  expect_done(j, "the first Send", pair.a.send_cq, 0);
  expect_done(j, "the third Send", pair.a.send_cq, 2);
  for (unsigned i = 0; i < 3; ++i) {
    expect_done(j, fmt::format("receive {}", i), pair.b.recv_cq, i);
  }
  expect_empty(j, "no completion of the unsignaled Send", pair.a.send_cq);
}

void failing_request(Judge& j) {
  Pair pair(j, with_builders(IBV_QP_EX_WITH_SEND));
  ibv_qp_ex* const qp = builders_of(j, pair.a);
  ibv_wr_start(qp);
  qp->wr_id = 1;
  qp->wr_flags = 0;
  ibv_wr_send(qp);
  ibv_wr_set_sge(qp, pair.a.mr->lkey ^ 0xFF00, pair.a.address(), 8);
  add_send(qp, pair.a, 2);
  j.require("ibv_wr_complete", errno_of(ibv_wr_complete(qp)));
  const ibv_wc wc = expect_completion(j, "the Send", pair.a.send_cq, {IBV_WC_LOC_PROT_ERR});
  j.expect_equal("wr_id", wc.wr_id, 1);
  expect_flushed(j, "the next Send", pair.a.send_cq, 2, 1);
}

void datagram(Judge& j) {
  EndOptions options = with_builders(IBV_QP_EX_WITH_SEND);
  options.type = IBV_QPT_UD;
  Pair pair(j, options);
  ibv_qp_ex* const qp = builders_of(j, pair.a);
  const Ah way = way_to_self(j, pair.a);
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, 64));
  ibv_wr_start(qp);
  add_send(qp, pair.a, 2);
  ibv_wr_set_ud_addr(qp, way.get(), pair.b.qp->qp_num, kQKey);
  j.require("ibv_wr_complete", errno_of(ibv_wr_complete(qp)));
  expect_done(j, "the Send", pair.a.send_cq, 2);
  const ibv_wc wc = expect_done(j, "the receive", pair.b.recv_cq, 1);
  j.expect_equal("byte_len with the GRH", wc.byte_len, 48);
}

// A window that the builders bind, and invalidate at this or at the other end.
template <bool by_peer>
void window(Judge& j) {
  EndOptions options = with_builders(IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV |
                                     IBV_QP_EX_WITH_SEND_WITH_INV);
  options.rights = kAllRights | IBV_ACCESS_MW_BIND;
  options.qp_rights = kAllRights;
  Pair pair(j, options);
  const Mw window(ibv_alloc_mw(pair.b.pd.get(), IBV_MW_TYPE_2));
  j.require("ibv_alloc_mw", errno_of(window.get()));
  const std::uint32_t rkey = ibv_inc_rkey(window->rkey);
  const ibv_mw_bind_info info{.mr = pair.b.mr.get(),
                              .addr = pair.b.address(kRemote),
                              .length = kLength,
                              .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  ibv_qp_ex* const owner = builders_of(j, pair.b);
  ibv_qp_ex* const peer = builders_of(j, pair.a);
  owner->wr_id = peer->wr_id = 1;
  owner->wr_flags = peer->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_start(owner);
  ibv_wr_bind_mw(owner, window.get(), rkey, &info);
  j.require("ibv_wr_complete, the bind", errno_of(ibv_wr_complete(owner)));
  const ibv_wc bound = expect_done(j, "the bind", pair.b.send_cq, 1);
  j.expect_equal("opcode of the bind", bound.opcode, IBV_WC_BIND_MW);
  auto write = pair.a.request(2, IBV_WR_RDMA_WRITE, pair.b, kRemote);
  write.wr.rdma.rkey = rkey;
  must(j, "ibv_post_send, a Write", pair.a.post_send(write, 0, kLength));
  expect_done(j, "the Write", pair.a.send_cq, 2);
  post_receives(pair.b, 1);
  ibv_qp_ex* const by = by_peer ? peer : owner;
  ibv_wr_start(by);
  if (by_peer) {
    ibv_wr_send_inv(by, rkey);
    ibv_wr_set_sge(by, pair.a.mr->lkey, pair.a.address(), 8);
  } else {
    ibv_wr_local_inv(by, rkey);
  }
  j.require("ibv_wr_complete, the invalidation", errno_of(ibv_wr_complete(by)));
  expect_done(j, "the invalidation", by_peer ? pair.a.send_cq : pair.b.send_cq, 1);
  if (by_peer) expect_done(j, "the receive", pair.b.recv_cq, 0);
  must(j, "ibv_post_send, a Write after it", pair.a.post_send(write, 0, kLength));
  expect_completion(j, "the Write after it", pair.a.send_cq, {IBV_WC_REM_ACCESS_ERR});
}

// A queue pair that was created in the plain way has no builders.
void plain_queue_pair(Judge& j) {
  const End end(j);
  j.expect_true("ibv_qp_to_qp_ex", ibv_qp_to_qp_ex(end.qp.get()) == nullptr, "null");
}

// clang-format off
constexpr Case kCases[] = {
    {"data/wr/send", "IBV-553", "gives ibv_wr_send() the same effect as IBV_WR_SEND", same_as_post_send<IBV_WR_SEND>, kByHand},
    {"data/wr/send-imm", "IBV-554", "gives ibv_wr_send_imm() the same effect as IBV_WR_SEND_WITH_IMM", same_as_post_send<IBV_WR_SEND_WITH_IMM>, kByHand},
    {"data/wr/rdma-write", "IBV-556", "gives ibv_wr_rdma_write() the same effect as IBV_WR_RDMA_WRITE", same_as_post_send<IBV_WR_RDMA_WRITE>, kByHand},
    {"data/wr/rdma-write-imm", "IBV-557", "gives ibv_wr_rdma_write_imm() the same effect as IBV_WR_RDMA_WRITE_WITH_IMM", same_as_post_send<IBV_WR_RDMA_WRITE_WITH_IMM>, kByHand},
    {"data/wr/rdma-read", "IBV-558", "gives ibv_wr_rdma_read() the same effect as IBV_WR_RDMA_READ", same_as_post_send<IBV_WR_RDMA_READ>, kByHand},
    {"data/wr/atomic-cmp-swp", "IBV-559", "gives ibv_wr_atomic_cmp_swp() the same effect as IBV_WR_ATOMIC_CMP_AND_SWP", same_as_post_send<IBV_WR_ATOMIC_CMP_AND_SWP>, kByHand | kAtomics},
    {"data/wr/atomic-fetch-add", "IBV-560", "gives ibv_wr_atomic_fetch_add() the same effect as IBV_WR_ATOMIC_FETCH_AND_ADD", same_as_post_send<IBV_WR_ATOMIC_FETCH_AND_ADD>, kByHand | kAtomics},
    {"data/wr/list", "IBV-545 IBV-551", "executes the requests of a list in order, before later requests", list_in_order, kByHand},
    {"data/wr/abort", "IBV-546 IBV-547", "sends nothing before ibv_wr_complete() or after ibv_wr_abort()", aborted, kByHand},
    {"data/wr/empty-list", "IBV-572", "accepts ibv_wr_complete() of an empty list", empty_list, kByHand},
    {"data/wr/too-many-buffers", "IBV-548 IBV-549 IBV-567", "refuses the whole list if one request has too many buffers", refused_list<Wrong::kBuffers>, kByHand},
    {"data/wr/inline-above", "IBV-548 IBV-549 IBV-566", "refuses the whole list if one request has too much inline data", refused_list<Wrong::kInline>, kByHand},
    {"data/wr/full-queue", "IBV-532", "refuses ibv_wr_complete() with ENOMEM if the send queue is full", full_queue, kByHand},
    {"data/wr/refused-state", "IBV-574", "refuses ibv_wr_complete() before RTS", refused_state, kByHand},
    {"data/wr/inline", "IBV-565", "copies inline data in ibv_wr_set_inline_data()", inline_data<false>, kByHand},
    {"data/wr/inline-list", "IBV-565", "copies and concatenates inline data in ibv_wr_set_inline_data_list()", inline_data<true>, kByHand},
    {"data/wr/buffer-list", "IBV-564", "concatenates the buffers of ibv_wr_set_sge_list()", buffer_list, kByHand},
    {"data/wr/flags", "IBV-550 IBV-570", "reads wr_id and wr_flags when ibv_wr_send() is called", flags_per_request, kByHand},
    {"data/wr/failing-request", "IBV-294", "completes an unsignaled request that fails", failing_request, kByHand},
    {"data/wr/bind-and-local-inv", "IBV-561 IBV-562", "binds a window by ibv_wr_bind_mw() and invalidates it by ibv_wr_local_inv()", window<false>, kByHand | kWindow2},
    {"data/wr/send-inv", "IBV-555", "invalidates the peer's window by ibv_wr_send_inv()", window<true>, kByHand | kWindow2},
    {"data/wr/datagram", "IBV-568", "sends a datagram to the address that ibv_wr_set_ud_addr() set", datagram, kUd},
    {"data/wr/plain-queue-pair", "IBV-409 IBV-571", "offers no ibv_wr_*() on a queue pair that was created without send_ops_flags", plain_queue_pair},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::data_builders

iwarp::judge::Table iwarp::judge::data_builders_cases() { return data_builders::kCases; }
