// SPDX-License-Identifier: Apache-2.0
// Cases about completions and order: which requests complete, in which order and when, what a fence
// and a solicited event do, and what was done before an error.
#include <fmt/format.h>

#include <thread>

#include "judge/cases/cases.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::data_order {
namespace {

constexpr std::size_t kRemote = 4096;

/// A list of requests that one call of ibv_post_send() posts, or one call for each.
struct Batch {
  void add(const ibv_send_wr& wr, const ibv_sge& sge) {
    wrs.push_back(wr);
    sges.push_back(sge);
  }
  int post_to(End& end, bool is_list) {
    for (std::size_t i = 0; i < wrs.size(); ++i) {
      wrs[i].sg_list = &sges[i];
      wrs[i].num_sge = 1;
      wrs[i].next = is_list && i + 1 < wrs.size() ? &wrs[i + 1] : nullptr;
    }
    ibv_send_wr* bad = nullptr;
    int code = 0;
    for (std::size_t i = 0; i < (is_list ? 1 : wrs.size()) && code == 0; ++i) {
      code = errno_of(ibv_post_send(end.qp.get(), &wrs[i], &bad));
    }
    return code;
  }
  std::vector<ibv_send_wr> wrs;
  std::vector<ibv_sge> sges;
};

// Which requests complete -------------------------------------------------------------------------

void unsignaled(Judge& j) {
  Pair pair(j);
  post_receives(pair.b, 4);
  for (unsigned i = 0; i < 4; ++i) {
    must(j, "ibv_post_send", pair.a.post_send(send_of(i, i == 3 ? IBV_SEND_SIGNALED : 0), 0, 8));
  }
  expect_done(j, "the signaled Send", pair.a.send_cq, 3);
  for (unsigned i = 0; i < 4; ++i) {
    expect_done(j, fmt::format("receive {}", i), pair.b.recv_cq, i);
  }
  expect_empty(j, "no completion of the unsignaled Sends", pair.a.send_cq);
}

void signal_all(Judge& j) {
  Pair pair(j, {.signal_all = true});
  post_receives(pair.b, 3);
  for (unsigned i = 0; i < 3; ++i) {
    must(j, "ibv_post_send", pair.a.post_send(send_of(i, i == 1 ? IBV_SEND_SIGNALED : 0), 0, 8));
  }
  for (unsigned i = 0; i < 3; ++i) expect_done(j, fmt::format("Send {}", i), pair.a.send_cq, i);
  expect_empty(j, "each completes once", pair.a.send_cq);
}

void unsignaled_failure(Judge& j) {
  Pair pair(j);
  ibv_sge bad = pair.a.sge(0, 8);
  bad.lkey ^= 0xFF00;
  j.require("ibv_post_send", post(pair.a, send_of(1, 0), {bad}));
  const ibv_wc wc =
      expect_completion(j, "the unsignaled Send", pair.a.send_cq, {IBV_WC_LOC_PROT_ERR});
  j.expect_equal("wr_id", wc.wr_id, 1);
  j.expect_true("qp_num", wc.qp_num == pair.a.qp->qp_num, "the own number");
}

// Order -------------------------------------------------------------------------------------------

void many_in_order(Judge& j) {
  Pair pair(j, with_depth(64));
  post_receives(pair.b, 64);
  for (unsigned i = 0; i < 64; ++i) {
    must(j, "ibv_post_send", pair.a.post_send(send_of(i), 0, i % 2 == 0 ? 8 : 64));
  }
  for (unsigned i = 0; i < 64; ++i) {
    expect_done(j, fmt::format("Send {}", i), pair.a.send_cq, i);
    const ibv_wc wc = expect_done(j, fmt::format("receive {}", i), pair.b.recv_cq, i);
    j.expect_equal(fmt::format("byte_len of receive {}", i), wc.byte_len, i % 2 == 0 ? 8 : 64);
  }
}

// Once the Send has arrived, the data of the Write before it is in memory.
void write_then_send(Judge& j) {
  Pair pair(j, {.memory = 1 << 20});
  constexpr std::uint32_t kLength = 500000;
  std::memset(pair.a.memory(), 'x', kLength);
  post_receives(pair.b, 1);
  auto write = pair.a.request(1, IBV_WR_RDMA_WRITE, pair.b, kRemote);
  write.send_flags = 0;
  j.require("ibv_post_send, the Write", pair.a.post_send(write, 0, kLength));
  j.require("ibv_post_send, the Send", pair.a.post_send(send_of(2), 0, 8));
  expect_done(j, "the receive", pair.b.recv_cq, 0);
  expect_bytes(j, "the data of the Write", pair.b.memory(kRemote), kLength, 'x');
}

void write_then_read(Judge& j) {
  Pair pair(j);
  std::memset(pair.a.memory(), 'x', 64);
  auto write = pair.a.request(1, IBV_WR_RDMA_WRITE, pair.b, kRemote);
  write.send_flags = 0;
  j.require("ibv_post_send, the Write", pair.a.post_send(write, 0, 64));
  j.require("ibv_post_send, the Read",
            pair.a.post_send(pair.a.request(2, IBV_WR_RDMA_READ, pair.b, kRemote), 1024, 64));
  expect_done(j, "the Read", pair.a.send_cq, 2);
  expect_bytes(j, "the data of the Read", pair.a.memory(1024), 64, 'x');
}

// A fenced Send starts after the Read, so it sends what the Read has brought.
void fence(Judge& j) {
  Pair pair(j, {.memory = 1 << 20});
  constexpr std::uint32_t kLength = 200000;
  std::memset(pair.b.memory(kRemote), 'x', kLength);
  j.require("ibv_post_recv", pair.b.post_recv(1, 300000, kLength));
  j.require("ibv_post_send, the Read",
            pair.a.post_send(pair.a.request(2, IBV_WR_RDMA_READ, pair.b, kRemote), 0, kLength));
  j.require("ibv_post_send, the Send",
            pair.a.post_send(send_of(3, IBV_SEND_SIGNALED | IBV_SEND_FENCE), 0, kLength));
  expect_done(j, "the Read", pair.a.send_cq, 2);
  expect_done(j, "the Send", pair.a.send_cq, 3);
  expect_done(j, "the receive", pair.b.recv_cq, 1);
  expect_bytes(j, "the message", pair.b.memory(300000), kLength, 'x');
}

// Requests of different types complete in the order of posting.
void mixed(Judge& j) {
  Pair pair(j);
  post_receives(pair.b, 2);
  constexpr std::array kOpcodes{IBV_WR_RDMA_READ, IBV_WR_SEND, IBV_WR_RDMA_WRITE,
                                IBV_WR_RDMA_READ, IBV_WR_SEND, IBV_WR_RDMA_WRITE};
  Batch batch;
  for (std::size_t i = 0; i < kOpcodes.size(); ++i) {
    batch.add(pair.a.request(i, kOpcodes[i], pair.b, kRemote), pair.a.sge(64 * i, 64));
  }
  j.require("ibv_post_send", batch.post_to(pair.a, true));
  for (unsigned i = 0; i < kOpcodes.size(); ++i) {
    expect_done(j, fmt::format("request {}", i), pair.a.send_cq, i);
  }
}

// Each of two queue pairs gets its own messages.
void two_peers(Judge& j) {
  Pair first(j);
  Pair second(j);
  for (Pair* const pair : {&first, &second}) post_receives(pair->b, 1);
  std::memset(first.a.memory(), '1', 8);
  std::memset(second.a.memory(), '2', 8);
  for (Pair* const pair : {&first, &second}) {
    must(j, "ibv_post_send", pair->a.post_send(send_of(1), 0, 8));
  }
  expect_done(j, "the first receive", first.b.recv_cq, 0);
  expect_done(j, "the second receive", second.b.recv_cq, 0);
  expect_bytes(j, "the first message", first.b.memory(), 8, '1');
  expect_bytes(j, "the second message", second.b.memory(), 8, '2');
}

// Two threads post to one queue pair; each request is executed once.
void two_threads(Judge& j) {
  Pair pair(j, with_depth(64));
  post_receives(pair.b, 64);
  const auto post_half = [&](unsigned first) {
    for (unsigned i = first; i < 64; i += 2) pair.a.post_send(send_of(i), 0, 8);
  };
  std::thread other(post_half, 1);
  post_half(0);
  other.join();
  std::array<int, 64> seen{};
  for (int i = 0; i < 64; ++i) {
    const auto wc = next(pair.a.send_cq);
    if (wc && wc->status == IBV_WC_SUCCESS && wc->wr_id < seen.size()) ++seen[wc->wr_id];
    if (!next(pair.b.recv_cq)) break;
  }
  j.expect_true("completions of 64 Sends", std::ranges::all_of(seen, [](int n) { return n == 1; }),
                "one of each");
}

// Before and after an error -----------------------------------------------------------------------

// Requests before the failed one are executed, and later ones are flushed.
template <bool is_list>
void local_error(Judge& j) {
  Pair pair(j);
  post_receives(pair.b, 4);
  Batch batch;
  for (unsigned i = 0; i < 4; ++i) batch.add(send_of(i), pair.a.sge(0, 8));
  batch.sges[2].lkey ^= 0xFF00;
  // One by one, the queue pair may have failed before the last post, which is still accepted.
  j.require("ibv_post_send", batch.post_to(pair.a, is_list));
  for (unsigned i = 0; i < 2; ++i) {
    expect_done(j, fmt::format("Send {}", i), pair.a.send_cq, i);
    expect_done(j, fmt::format("receive {}", i), pair.b.recv_cq, i);
  }
  const ibv_wc wc =
      expect_completion(j, "the Send that fails", pair.a.send_cq, {IBV_WC_LOC_PROT_ERR});
  j.expect_equal("wr_id of the Send that fails", wc.wr_id, 2);
  expect_flushed(j, "the next Send", pair.a.send_cq, 3, 1);
}

template <bool is_list>
void remote_error(Judge& j) {
  Pair pair(j);
  std::memset(pair.b.memory(kRemote), 'x', 1024);
  Batch batch;
  for (unsigned i = 0; i < 4; ++i) {
    batch.add(pair.a.request(i, IBV_WR_RDMA_READ, pair.b, kRemote), pair.a.sge(64UL * i, 64));
  }
  batch.wrs[2].wr.rdma.rkey ^= 0xFF00;
  j.require("ibv_post_send", batch.post_to(pair.a, is_list));
  for (unsigned i = 0; i < 2; ++i) expect_done(j, fmt::format("Read {}", i), pair.a.send_cq, i);
  if (j.is_iwarp()) {
    expect_completion(j, "the Read that fails", pair.a.send_cq,
                      {IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR, IBV_WC_WR_FLUSH_ERR});
  } else {
    expect_completion(j, "the Read that fails", pair.a.send_cq, {IBV_WC_REM_ACCESS_ERR});
  }
  expect_flushed(j, "the next Read", pair.a.send_cq, 3, 1);
  expect_bytes(j, "the data of the Reads before", pair.a.memory(), 128, 'x');
  expect_bytes(j, "the buffers of the others", pair.a.memory(128), 128, '\0');
}

// A message that has arrived keeps its completion.
void received_before_error(Judge& j) {
  Pair pair(j);
  post_receives(pair.b, 3);
  j.require("ibv_post_send", pair.a.post_send(send_of(1), 0, 8));
  expect_done(j, "the Send", pair.a.send_cq, 1);
  if (j.is_iwarp()) expect_done(j, "the receive", pair.b.recv_cq, 0);
  j.require("ibv_modify_qp to ERR", pair.b.modify(IBV_QPS_ERR));
  if (!j.is_iwarp()) expect_done(j, "the receive", pair.b.recv_cq, 0);
  expect_flushed(j, "the later receives", pair.b.recv_cq, 1, 2);
  expect_empty(j, "nothing else", pair.b.recv_cq);
}

void flush_both_queues(Judge& j) {
  Pair pair(j);
  post_receives(pair.a, 8);
  for (unsigned i = 0; i < 8; ++i) {  // The peer has no receive, so all remain.
    must(j, "ibv_post_send",
         pair.a.post_send(send_of(i, i % 2 == 0 ? IBV_SEND_SIGNALED : 0), 0, 8));
  }
  j.require("ibv_modify_qp to ERR", pair.a.modify(IBV_QPS_ERR));
  expect_flushed(j, "requests, unsignaled ones too", pair.a.send_cq, 0, 8);
  expect_flushed(j, "receives", pair.a.recv_cq, 0, 8);
  expect_empty(j, "no other request", pair.a.send_cq);
  expect_empty(j, "no other receive", pair.a.recv_cq);
  exchange_elsewhere(j);
  expect_same_state(j, "the end of its peer", pair.b, IBV_QPS_RTS);
}

void flush_keeps_srq(Judge& j) {
  Pair pair(j, {}, {.has_srq = true});
  post_receives(pair.b, 2);
  j.require("ibv_modify_qp to ERR", pair.b.modify(IBV_QPS_ERR));
  j.expect_text("event", next_affiliated(j), {ibv_event_type_str(IBV_EVENT_QP_LAST_WQE_REACHED)});
  expect_empty(j, "the receives stay in the SRQ", pair.b.recv_cq);
}

// Solicited events --------------------------------------------------------------------------------

void solicited(Judge& j) {
  Pair pair(j, {}, {.has_channel = true});
  post_receives(pair.b, 3);
  j.require("ibv_req_notify_cq, solicited only",
            errno_of(ibv_req_notify_cq(pair.b.recv_cq.get(), 1)));
  j.require("ibv_post_send", pair.a.post_send(send_of(1), 0, 8));
  expect_done(j, "the first receive", pair.b.recv_cq, 0);
  j.expect_true("event of a Send", !is_readable(pair.b.channel->fd), "none");
  j.require("ibv_post_send, solicited",
            pair.a.post_send(send_of(2, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED), 0, 8));
  j.require_true("event of a solicited Send", is_readable(pair.b.channel->fd, kLimit), "one");
  take_cq_event(j, pair.b.channel);
  expect_done(j, "the second receive", pair.b.recv_cq, 1);
  j.require("ibv_post_send, solicited again",
            pair.a.post_send(send_of(3, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED), 0, 8));
  expect_done(j, "the third receive", pair.b.recv_cq, 2);
  j.expect_true("event without arming again", !is_readable(pair.b.channel->fd), "none");
}

// An error counts as solicited (ibv_req_notify_cq(3)).
void error_is_solicited(Judge& j) {
  Pair pair(j, {}, {.has_channel = true});
  post_receives(pair.b, 1);
  j.require("ibv_req_notify_cq, solicited only",
            errno_of(ibv_req_notify_cq(pair.b.recv_cq.get(), 1)));
  j.require("ibv_modify_qp to ERR", pair.b.modify(IBV_QPS_ERR));
  j.require_true("event of a flushed receive", is_readable(pair.b.channel->fd, kLimit), "one");
  take_cq_event(j, pair.b.channel);
}

// clang-format off
constexpr Case kCases[] = {
    {"data/complete/unsignaled", "IBV-293 IBV-391 IBV-524 VRB-39", "completes only signaled requests", unsignaled},
    {"data/complete/signal-all", "IBV-295", "completes each request once with sq_sig_all", signal_all},
    {"data/complete/unsignaled-failure", "IBV-277 IBV-294 VRB-39", "completes an unsignaled request that fails", unsignaled_failure},
    {"data/order/many", "IBV-296 IBV-538", "delivers and completes 64 Sends in order", many_in_order},
    {"data/order/write-then-send", "IBV-298 VRB-44", "places the data of a Write before it completes the receive of the next Send", write_then_send},
    {"data/order/write-then-read", "IBV-299", "returns the data of an earlier Write to a Read of the same queue pair", write_then_read},
    {"data/order/fence", "IBV-522", "starts a fenced Send only after the previous Read is complete", fence},
    {"data/order/mixed", "IBV-296", "completes requests of different types in order", mixed},
    {"data/order/two-peers", "IBV-470", "delivers each message to the peer of its queue pair", two_peers},
    {"data/order/two-threads", "IBV-535", "executes each request of two threads once", two_threads},
    {"data/error/local-in-list", "IBV-303 IBV-304 IBV-315", "executes the requests of a list before one with a wrong L_Key", local_error<true>},
    {"data/error/local-one-by-one", "IBV-303 IBV-304 IBV-315", "executes the requests posted before one with a wrong L_Key", local_error<false>},
    {"data/error/remote-in-list", "IBV-303 IBV-304 IBV-327", "completes the Reads of a list before one with a wrong R_Key", remote_error<true>},
    {"data/error/remote-one-by-one", "IBV-303 IBV-304 IBV-327", "completes the Reads posted before one with a wrong R_Key", remote_error<false>},
    {"data/error/received-before", "IBV-307", "keeps the completion of a message that arrived before ERR", received_before_error},
    {"data/error/flush-both-queues", "IBV-305 IBV-317 IBV-454 IBV-455", "flushes all requests and receives in order when a queue pair goes to ERR, and keeps its peer in RTS", flush_both_queues, kByHand},
    {"data/error/flush-keeps-srq", "IBV-305 IBV-376", "keeps the receives of an SRQ when its queue pair goes to ERR, and reports QP_LAST_WQE_REACHED", flush_keeps_srq, kSrq},
    {"data/solicited/send", "IBV-226 IBV-525", "reports an event only for a solicited Send if solicited_only is 1", solicited},
    {"data/solicited/error", "IBV-228", "reports an event for a flushed receive if solicited_only is 1", error_is_solicited},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::data_order

iwarp::judge::Table iwarp::judge::data_order_cases() { return data_order::kCases; }
