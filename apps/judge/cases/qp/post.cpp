// SPDX-License-Identifier: Apache-2.0
// Cases about posting: in which state, how many, with which buffers, and what a list does whose
// element is refused.
#include <fmt/format.h>

#include <bit>

#include "judge/cases/cases.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::qp_post {
namespace {

// States ------------------------------------------------------------------------------------------

template <ibv_qp_state state, ibv_qp_type type = IBV_QPT_RC>
void send_refused(Judge& j) {
  End end(j, {.type = type});
  bring(end, state);
  const Ah way = type == IBV_QPT_UD ? way_to_self(j, end) : Ah();
  j.expect("ibv_post_send", post(end, send_to(1, way.get(), end), {end.sge(0, 8)}), {EINVAL});
  expect_empty(j, "no completion", end.send_cq);
}

void receive_in_reset(Judge& j) {
  End end(j);
  j.expect("ibv_post_recv", end.post_recv(1, 0, 8), {EINVAL});
}

// A receive that is posted in INIT serves the first message.
template <ibv_qp_type type>
void receive_in_init(Judge& j) {
  End a(j, {.type = type});
  End b(j, {.type = type});
  bring(b, IBV_QPS_INIT);
  j.require("ibv_post_recv in INIT", b.post_recv(7, 0, 64));
  bring(a, IBV_QPS_INIT);
  for (const auto to : {IBV_QPS_RTR, IBV_QPS_RTS}) {
    a.attr.dest_qp_num = b.qp->qp_num;
    b.attr.dest_qp_num = a.qp->qp_num;
    j.require(fmt::format("ibv_modify_qp of the receiver to {}", state_name(to)), step(b, to));
    j.require(fmt::format("ibv_modify_qp of the sender to {}", state_name(to)), step(a, to));
  }
  const Ah way = type == IBV_QPT_UD ? way_to_self(j, a) : Ah();
  j.require("ibv_post_send", post(a, send_to(1, way.get(), b), {a.sge(0, 8)}));
  expect_done(j, "the Send", a.send_cq, 1);
  expect_done(j, "the receive", b.recv_cq, 7);
}

// A receiver in RTR gets messages, and may not send. An event reports the first message.
template <bool with_event>
void receive_in_rtr(Judge& j) {
  End a(j);
  End b(j);
  for (End* const end : {&a, &b}) {
    End& peer = end == &a ? b : a;
    j.require("ibv_modify_qp to INIT", end->to_init());
    j.require("ibv_modify_qp to RTR", end->to_rtr(peer.qp->qp_num));
  }
  j.require("ibv_post_recv", b.post_recv(7, 0, 8));
  j.require("ibv_modify_qp of the sender to RTS", a.to_rts());
  j.require("ibv_post_send", a.post_send(send_of(1), 0, 8));
  expect_done(j, "the Send", a.send_cq, 1);
  expect_done(j, "the receive", b.recv_cq, 7);
  if (with_event) {
    j.expect_text("event", next_affiliated(j), {ibv_event_type_str(IBV_EVENT_COMM_EST)});
  } else {
    j.expect("ibv_post_send in RTR", b.post_send(send_of(2), 0, 8), {EINVAL});
  }
}

template <ibv_qp_type type>
void flushed_in_error(Judge& j) {
  End end(j, {.type = type});
  bring(end, IBV_QPS_RTS);
  j.require("ibv_modify_qp to ERR", end.modify(IBV_QPS_ERR));
  const Ah way = type == IBV_QPT_UD ? way_to_self(j, end) : Ah();
  for (unsigned i = 0; i < 3; ++i) {
    auto wr = send_to(10 + i, way.get(), end);
    // A request that fails completes, signaled or not.
    if (i == 1) wr.send_flags = 0;
    j.expect(fmt::format("ibv_post_send, number {}", i), post(end, wr, {end.sge(0, 8)}));
    j.expect(fmt::format("ibv_post_recv, number {}", i), end.post_recv(20 + i, 0, 8));
  }
  expect_flushed(j, "requests", end.send_cq, 10, 3);
  expect_flushed(j, "receives", end.recv_cq, 20, 3);
}

// As flushed_in_error(), for a queue pair that was connected.
void flushed_after_connection(Judge& j) {
  Pair pair(j);
  j.require("ibv_modify_qp to ERR", pair.a.modify(IBV_QPS_ERR));
  for (unsigned i = 0; i < 3; ++i) {
    j.expect(fmt::format("ibv_post_send, number {}", i), pair.a.post_send(send_of(10 + i), 0, 8));
    j.expect(fmt::format("ibv_post_recv, number {}", i), pair.a.post_recv(20 + i, 0, 8));
  }
  expect_flushed(j, "requests", pair.a.send_cq, 10, 3);
  expect_flushed(j, "receives", pair.a.recv_cq, 20, 3);
}

// Queues that are full ----------------------------------------------------------------------------

/// A device may have rounded up its queues, but no queue is this much longer.
std::uint32_t most_in(std::uint32_t cap) { return cap * 4 + 256; }

void send_queue_full(Judge& j) {
  Pair pair(j, {.cqe = 1024});  // The receiver has no receive, so no Send completes.
  const auto cap = query(pair.a).cap;
  int code = 0;
  std::uint32_t posted = 0;
  while (code == 0 && posted < most_in(cap.max_send_wr)) {
    code = pair.a.post_send(send_of(posted), 0, 8);
    posted += code == 0 ? 1 : 0;
  }
  j.expect("ibv_post_send to a full queue", code, {ENOMEM});
  j.expect_true("accepted before", posted >= cap.max_send_wr, "at least max_send_wr");
  j.require("ibv_modify_qp to ERR", pair.a.modify(IBV_QPS_ERR));
  expect_flushed(j, "what was accepted", pair.a.send_cq, 0, static_cast<int>(posted));
  expect_empty(j, "nothing else", pair.a.send_cq);
}

// Polling a completion makes room, also that of the unsignaled requests before it.
void send_queue_reused(Judge& j) {
  Pair pair(j);
  const std::uint32_t depth = pair.a.options.cap.max_send_wr;
  for (unsigned round = 0; round < 4; ++round) {
    int code = 0;
    for (unsigned i = 0; i < depth && code == 0; ++i) {
      auto wr = pair.a.request(i, IBV_WR_RDMA_WRITE, pair.b);
      wr.send_flags = i + 1 == depth ? IBV_SEND_SIGNALED : 0;
      code = pair.a.post_send(wr, 0, 8);
    }
    j.expect(fmt::format("max_send_wr Writes, round {}", round), code);
    expect_done(j, fmt::format("last Write of round {}", round), pair.a.send_cq, depth - 1);
  }
  expect_empty(j, "no completion of an unsignaled Write", pair.a.send_cq);
}

void receive_queue_full(Judge& j) {
  End end(j, {.cqe = 1024});
  if (!j.is_iwarp()) bring(end, IBV_QPS_INIT);
  const auto cap = query(end).cap;
  int code = 0;
  std::uint32_t posted = 0;
  while (code == 0 && posted < most_in(cap.max_recv_wr)) {
    code = end.post_recv(posted, 0, 8);
    posted += code == 0 ? 1 : 0;
  }
  j.expect("ibv_post_recv to a full queue", code, {ENOMEM});
  j.expect_true("accepted before", posted >= cap.max_recv_wr, "at least max_recv_wr");
}

// Buffers -----------------------------------------------------------------------------------------

void too_many_buffers(Judge& j) {
  Pair pair(j);
  const auto cap = query(pair.a).cap;
  std::vector<ibv_sge> list(std::max(cap.max_send_sge, cap.max_recv_sge) + 1, pair.a.sge(0, 8));
  ibv_send_wr wr = send_of(1);
  wr.sg_list = list.data();
  wr.num_sge = static_cast<int>(cap.max_send_sge) + 1;
  ibv_send_wr* bad = nullptr;
  j.expect("ibv_post_send with max_send_sge + 1 buffers",
           errno_of(ibv_post_send(pair.a.qp.get(), &wr, &bad)), {EINVAL, ENOMEM});
  j.expect_true("bad_wr of the send", bad == &wr, "the request");
  ibv_recv_wr receives{.wr_id = 1,
                       .next = nullptr,
                       .sg_list = list.data(),
                       .num_sge = static_cast<int>(cap.max_recv_sge) + 1};
  ibv_recv_wr* bad_receive = nullptr;
  j.expect("ibv_post_recv with max_recv_sge + 1 buffers",
           errno_of(ibv_post_recv(pair.a.qp.get(), &receives, &bad_receive)), {EINVAL, ENOMEM});
  j.expect_true("bad_wr of the receive", bad_receive == &receives, "the receive");
  expect_same_state(j, "the refused calls", pair.a, IBV_QPS_RTS);
}

void inline_above(Judge& j) {
  Pair pair(j);
  const auto cap = query(pair.a).cap;
  const std::uint32_t length = cap.max_inline_data + 1;
  j.expect("ibv_post_send", pair.a.post_send(send_of(1, IBV_SEND_INLINE), 0, length),
           {EINVAL, ENOMEM});
  expect_same_state(j, "the refused call", pair.a, IBV_QPS_RTS);
}

// The device refuses the request, or completes it with an error.
template <std::uint32_t length, int count>
void atomic_buffers(Judge& j) {
  Pair pair(j);
  const auto wr = pair.a.request(1, IBV_WR_ATOMIC_FETCH_AND_ADD, pair.b);
  const ibv_sge sge = pair.a.sge(0, length);
  const int code = count == 0 ? post(pair.a, wr, {}) : post(pair.a, wr, {sge});
  j.expect("ibv_post_send", code, {0, EINVAL});
  if (code != 0) return expect_same_state(j, "the refused call", pair.a, IBV_QPS_RTS);
  expect_completion(j, "the atomic", pair.a.send_cq,
                    {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR});
}

void too_long(Judge& j) {
  const std::uint32_t most = j.port_attributes().max_msg_sz;
  if (most == UINT32_MAX) j.not_applicable("max_msg_sz is 2^32 - 1");
  Pair pair(j);
  const int code = pair.a.post_send(send_of(1), 0, most + 1);
  j.expect("ibv_post_send", code, {0, EINVAL});
  if (code != 0) return expect_same_state(j, "the refused call", pair.a, IBV_QPS_RTS);
  expect_completion(j, "the Send", pair.a.send_cq, {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_PROT_ERR});
}

// The flag is for Sends and Writes; for a Read it is refused or has no effect.
void inline_read(Judge& j) {
  Pair pair(j, with_inline(8));
  std::memset(pair.b.memory(64), 'x', 8);
  auto wr = pair.a.request(1, IBV_WR_RDMA_READ, pair.b, 64);
  wr.send_flags |= IBV_SEND_INLINE;
  const int code = pair.a.post_send(wr, 0, 8);
  j.expect("ibv_post_send", code, {0, EINVAL, EOPNOTSUPP});
  if (code != 0) return;
  expect_done(j, "the Read", pair.a.send_cq, 1);
  expect_bytes(j, "the data", pair.a.memory(), 8, 'x');
}

// Opcodes -----------------------------------------------------------------------------------------

template <ibv_qp_type type, ibv_wr_opcode opcode>
void wrong_opcode(Judge& j) {
  Pair pair(j, {.type = type});
  const Ah way = type == IBV_QPT_UD ? way_to_self(j, pair.a) : Ah();
  ibv_send_wr wr = pair.a.request(1, opcode, pair.b);
  if (type == IBV_QPT_UD) {
    wr = send_to(1, way.get(), pair.b);
    wr.opcode = opcode;
  }
  j.expect("ibv_post_send", pair.a.post_send(wr, 0, 8), {EINVAL, EOPNOTSUPP});
  expect_same_state(j, "the refused call", pair.a, IBV_QPS_RTS);
}

void unknown_opcode(Judge& j) {
  Pair pair(j);
  const auto opcode = std::bit_cast<ibv_wr_opcode>(99U);
  j.expect("ibv_post_send", pair.a.post_send(pair.a.request(1, opcode, pair.b), 0, 8),
           {EINVAL, EOPNOTSUPP});
  expect_same_state(j, "the refused call", pair.a, IBV_QPS_RTS);
}

void receive_with_srq(Judge& j) {
  Pair pair(j, {.has_srq = true});
  ibv_sge one = pair.a.sge(0, 8);
  j.expect("ibv_post_recv", receive(pair.a, 1, {one}), {EINVAL});
}

// Lists -------------------------------------------------------------------------------------------

/// A list of Sends of 8 bytes with ids from 0.
struct SendList {
  SendList(const End& end, std::size_t count) : sges(count, end.sge(0, 8)), wrs(count) {
    for (std::size_t i = 0; i < count; ++i) {
      wrs[i] = send_of(i);
      wrs[i].sg_list = &sges[i];
      wrs[i].num_sge = 1;
      wrs[i].next = i + 1 < count ? &wrs[i + 1] : nullptr;
    }
  }
  std::vector<ibv_sge> sges;
  std::vector<ibv_send_wr> wrs;
};

void list_in_order(Judge& j) {
  Pair pair(j);
  post_receives(pair.b, 4);
  SendList list(pair.a, 4);
  ibv_send_wr* bad = nullptr;
  j.require("ibv_post_send", errno_of(ibv_post_send(pair.a.qp.get(), list.wrs.data(), &bad)));
  for (unsigned i = 0; i < 4; ++i) {
    expect_done(j, fmt::format("Send {}", i), pair.a.send_cq, i);
    expect_done(j, fmt::format("receive {}", i), pair.b.recv_cq, i);
  }
}

// The elements before the refused one are posted, later ones are not (ibv_post_send(3)).
void list_refused(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_recv", pair.b.post_recv(0, 0, 8));
  j.require("ibv_post_recv, for the next Send", pair.b.post_recv(1, 0, 8));
  SendList list(pair.a, 3);
  list.wrs[1].num_sge = 1 << 20;
  ibv_send_wr* bad = nullptr;
  j.expect("ibv_post_send", errno_of(ibv_post_send(pair.a.qp.get(), list.wrs.data(), &bad)),
           {EINVAL, ENOMEM});
  j.expect_true("bad_wr", bad == &list.wrs[1], "the second element");
  expect_done(j, "the element before", pair.a.send_cq, 0);
  expect_done(j, "its receive", pair.b.recv_cq, 0);
  j.require("ibv_post_send of the next Send", pair.a.post_send(send_of(9), 0, 8));
  expect_done(j, "the next Send", pair.a.send_cq, 9);
  expect_done(j, "its receive, not that of the third element", pair.b.recv_cq, 1);
  expect_empty(j, "nothing else", pair.a.send_cq);
}

void receive_list_refused(Judge& j) {
  Pair pair(j);
  ibv_sge one = pair.b.sge(0, 8);
  std::array<ibv_recv_wr, 3> wrs{};
  for (std::size_t i = 0; i < wrs.size(); ++i) {
    wrs[i] = {.wr_id = i,
              .next = i + 1 < wrs.size() ? &wrs[i + 1] : nullptr,
              .sg_list = &one,
              .num_sge = i == 1 ? 1 << 20 : 1};
  }
  ibv_recv_wr* bad = nullptr;
  j.expect("ibv_post_recv", errno_of(ibv_post_recv(pair.b.qp.get(), wrs.data(), &bad)),
           {EINVAL, ENOMEM});
  j.expect_true("bad_wr", bad == &wrs[1], "the second element");
  j.require("ibv_post_send", pair.a.post_send(send_of(9), 0, 8));
  expect_done(j, "the receive before", pair.b.recv_cq, 0);
  j.require("ibv_modify_qp to ERR", pair.b.modify(IBV_QPS_ERR));
  j.require("ibv_post_recv in ERR", pair.b.post_recv(5, 0, 8));
  expect_flushed(j, "only the last receive", pair.b.recv_cq, 5, 1);
}

// clang-format off
constexpr Case kCases[] = {
    {"qp/post/send-in-reset", "IBV-457", "refuses requests in RESET", send_refused<IBV_QPS_RESET>, kByHand},
    {"qp/post/send-in-init", "IBV-457", "refuses requests in INIT", send_refused<IBV_QPS_INIT>, kByHand},
    {"qp/post/send-in-rtr", "IBV-457", "refuses requests in RTR", send_refused<IBV_QPS_RTR>, kByHand},
    {"qp/post/ud-send-in-reset", "IBV-457", "refuses requests in RESET", send_refused<IBV_QPS_RESET, IBV_QPT_UD>, kUd},
    {"qp/post/ud-send-in-init", "IBV-457", "refuses requests in INIT", send_refused<IBV_QPS_INIT, IBV_QPT_UD>, kUd},
    {"qp/post/ud-send-in-rtr", "IBV-457", "refuses requests in RTR", send_refused<IBV_QPS_RTR, IBV_QPT_UD>, kUd},
    {"qp/post/receive-in-reset", "IBV-457", "refuses receives in RESET", receive_in_reset, kByHand},
    {"qp/post/receive-in-init", "IBV-460", "accepts receives in INIT", receive_in_init<IBV_QPT_RC>, kByHand},
    {"qp/post/uc-receive-in-init", "IBV-460", "accepts receives in INIT", receive_in_init<IBV_QPT_UC>, kByHand | kUc},
    {"qp/post/ud-receive-in-init", "IBV-460", "accepts receives in INIT", receive_in_init<IBV_QPT_UD>, kUd},
    {"qp/post/receive-in-rtr", "IBV-457 IBV-459", "receives messages in RTR, and refuses requests", receive_in_rtr<false>, kByHand},
    {"qp/post/event-in-rtr", "IBV-602", "reports the first message in RTR by an event", receive_in_rtr<true>, kByHand},
    {"qp/post/in-err", "IBV-294 IBV-306", "flushes in order the requests and receives that are posted in ERR", flushed_in_error<IBV_QPT_RC>, kByHand},
    {"qp/post/uc-in-err", "IBV-294 IBV-306", "flushes in order the requests and receives that are posted in ERR", flushed_in_error<IBV_QPT_UC>, kByHand | kUc},
    {"qp/post/ud-in-err", "IBV-294 IBV-306", "flushes in order the requests and receives that are posted in ERR", flushed_in_error<IBV_QPT_UD>, kUd},
    {"qp/post/in-err-after-connection", "IBV-306", "flushes in order the requests and receives that are posted in ERR after a connection", flushed_after_connection},
    {"qp/post/send-queue-full", "IBV-384 IBV-532", "accepts at least max_send_wr requests, and refuses a request on a full queue with ENOMEM", send_queue_full, kByHand},
    {"qp/post/send-queue-reused", "IBV-297 IBV-302 IBV-532", "frees the slots of unsignaled requests with the next completion", send_queue_reused},
    {"qp/post/receive-queue-full", "IBV-385", "accepts at least max_recv_wr receives, and refuses a receive on a full queue with ENOMEM", receive_queue_full},
    {"qp/post/too-many-buffers", "IBV-386 IBV-531 IBV-539 VRB-53", "refuses requests and receives with more SGEs than max_send_sge or max_recv_sge", too_many_buffers},
    {"qp/post/inline-above", "IBV-387", "refuses more inline data than max_inline_data", inline_above},
    {"qp/post/inline-read", "IBV-528", "refuses inline data for a Read, or ignores the flag", inline_read},
    {"qp/post/too-long", "IBV-533", "does not send a message longer than max_msg_sz", too_long},
    {"qp/post/atomic-without-buffer", "IBV-518", "refuses or fails an atomic without a buffer", atomic_buffers<8, 0>, kAtomics},
    {"qp/post/atomic-short", "IBV-518", "refuses or fails an atomic with a buffer of 4 bytes", atomic_buffers<4, 1>, kAtomics},
    {"qp/post/unknown-opcode", "IBV-506", "refuses an opcode that does not exist", unknown_opcode},
    {"qp/post/uc-read", "IBV-504", "refuses RDMA Reads on UC", wrong_opcode<IBV_QPT_UC, IBV_WR_RDMA_READ>, kByHand | kUc},
    {"qp/post/uc-compare-swap", "IBV-504", "refuses atomics on UC", wrong_opcode<IBV_QPT_UC, IBV_WR_ATOMIC_CMP_AND_SWP>, kByHand | kUc},
    {"qp/post/uc-fetch-add", "IBV-504", "refuses atomics on UC", wrong_opcode<IBV_QPT_UC, IBV_WR_ATOMIC_FETCH_AND_ADD>, kByHand | kUc},
    {"qp/post/ud-write", "IBV-505", "refuses RDMA Writes on UD", wrong_opcode<IBV_QPT_UD, IBV_WR_RDMA_WRITE>, kUd},
    {"qp/post/ud-read", "IBV-505", "refuses RDMA Reads on UD", wrong_opcode<IBV_QPT_UD, IBV_WR_RDMA_READ>, kUd},
    {"qp/post/ud-fetch-add", "IBV-505", "refuses atomics on UD", wrong_opcode<IBV_QPT_UD, IBV_WR_ATOMIC_FETCH_AND_ADD>, kUd},
    {"qp/post/ud-send-with-inv", "IBV-505", "refuses IBV_WR_SEND_WITH_INV on UD", wrong_opcode<IBV_QPT_UD, IBV_WR_SEND_WITH_INV>, kUd},
    {"qp/post/receive-with-srq", "IBV-375", "refuses ibv_post_recv() to a queue pair with an SRQ", receive_with_srq, kSrq},
    {"qp/post/list", "IBV-296 IBV-501", "executes a list of requests in order", list_in_order},
    {"qp/post/list-refused", "IBV-502 VRB-41", "posts the requests before a refused one, and sets bad_wr to that one", list_refused},
    {"qp/post/receive-list-refused", "IBV-537", "posts the receives before a refused one, and sets bad_wr to that one", receive_list_refused},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::qp_post

iwarp::judge::Table iwarp::judge::qp_post_cases() { return qp_post::kCases; }
