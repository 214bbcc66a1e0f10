// SPDX-License-Identifier: Apache-2.0
// Cases about an end that cannot continue: no receive, a peer that is gone, a stopped send queue;
// and about a queue pair that is used again after RESET.
#include <fmt/format.h>

#include "judge/cases/cases.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::data_peers {
namespace {

// No receive --------------------------------------------------------------------------------------

// Only the sender fails: at the receiver, nothing has happened (class B; IBTA vol. 1, 9.9.3).
void rnr_exceeded(Judge& j) {
  Pair pair(j, {.rnr_retry = 0});
  j.require("ibv_post_send", pair.a.post_send(send_of(1), 0, 8));
  j.require("ibv_post_send of the next Send", pair.a.post_send(send_of(2), 0, 8));
  const ibv_wc wc = expect_completion(j, "the Send", pair.a.send_cq, {IBV_WC_RNR_RETRY_EXC_ERR});
  j.expect_equal("wr_id", wc.wr_id, 1);
  expect_flushed(j, "the next Send", pair.a.send_cq, 2, 1);
  expect_state(j, "state of the sender", pair.a, IBV_QPS_ERR);
  expect_no_event(j, "events");
  expect_same_state(j, "the failed Send, at the receiver", pair.b, IBV_QPS_RTS);
  j.expect("ibv_post_recv at the receiver", pair.b.post_recv(3, 0, 8));
  exchange_elsewhere(j);
  expect_empty(j, "the receive stays posted", pair.b.recv_cq);
}

// With rnr_retry 7, the sender waits without limit. Other work of the receiver goes on.
template <bool has_srq>
void late_receive(Judge& j) {
  Pair pair(j, {.has_srq = has_srq});
  j.require("ibv_post_send", pair.a.post_send(send_of(1), 0, 8));
  exchange_elsewhere(j);
  expect_empty(j, "no completion without receive", pair.a.send_cq);
  j.require("ibv_post_recv", pair.b.post_recv(2, 0, 8));
  expect_done(j, "the Send", pair.a.send_cq, 1);
  expect_done(j, "the receive", pair.b.recv_cq, 2);
}

// As many Sends complete as there are receives, although later ones wait.
void receives_for_some(Judge& j) {
  Pair pair(j, with_depth(32));
  post_receives(pair.b, 16);
  for (unsigned i = 0; i < 32; ++i) {
    must(j, "ibv_post_send", pair.a.post_send(send_of(i), 0, 8));
  }
  for (unsigned i = 0; i < 32; ++i) {
    if (i == 16) post_receives(pair.b, 16, 16);
    expect_done(j, fmt::format("Send {}", i), pair.a.send_cq, i);
    expect_done(j, fmt::format("receive {}", i), pair.b.recv_cq, i);
  }
}

// Without receive, an iWARP peer ends the connection (RFC 5041 section 7.2), after the Send may
// have completed.
void iwarp_no_receive(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_send", pair.a.post_send(send_of(1), 0, 8));
  j.require("ibv_post_recv", pair.b.post_recv(2, 0, 8));
  const auto wc = next(pair.b.recv_cq);
  j.require_true("the receive completes", wc.has_value(), "a completion");
  // The receive may be in time: then the message has arrived.
  j.expect("completion of the receive", wc->status, {IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR});
  if (wc->status != IBV_WC_SUCCESS) expect_state(j, "state of the sender", pair.a, IBV_QPS_ERR);
}

// A peer that is gone -----------------------------------------------------------------------------

constexpr EndOptions kImpatient{.timeout = 8, .retry_cnt = 1};  // about 1 ms

enum class Gone { kDestroyed, kError, kReset };

template <Gone how>
void peer_gone(Judge& j) {
  Pair pair(j, kImpatient);
  j.require("ibv_post_recv", pair.a.post_recv(9, 0, 8));
  switch (how) {
    case Gone::kDestroyed:
      j.require("ibv_destroy_qp of the peer", pair.b.qp.destroy());
      break;
    case Gone::kError:
      j.require("ibv_modify_qp of the peer to ERR", pair.b.modify(IBV_QPS_ERR));
      break;
    case Gone::kReset:
      j.require("ibv_modify_qp of the peer to RESET", pair.b.modify(IBV_QPS_RESET));
      break;
  }
  exchange_elsewhere(j);
  expect_same_state(j, "the peer is gone", pair.a, IBV_QPS_RTS);
  expect_empty(j, "the receive stays posted", pair.a.recv_cq);
  j.require("ibv_post_send", pair.a.post_send(send_of(1), 0, 8));
  j.require("ibv_post_send of the next Send", pair.a.post_send(send_of(2), 0, 8));
  const ibv_wc wc = expect_completion(j, "the Send", pair.a.send_cq, {IBV_WC_RETRY_EXC_ERR});
  j.expect_equal("wr_id", wc.wr_id, 1);
  expect_flushed(j, "the next Send", pair.a.send_cq, 2, 1);
  expect_flushed(j, "the receive", pair.a.recv_cq, 9, 1);
  expect_state(j, "state", pair.a, IBV_QPS_ERR);
}

// The receiver drops packets whose number is ahead of the one that it expects.
void wrong_psn(Judge& j) {
  End a(j, kImpatient);
  End b(j, kImpatient);
  for (End* const end : {&a, &b}) {
    End& peer = end == &a ? b : a;
    end->attr.sq_psn = end == &a ? 1000 : 1;
    end->attr.dest_qp_num = peer.qp->qp_num;
    bring(*end, IBV_QPS_RTS);
    post_receives(*end, 1);
  }
  must(j, "ibv_post_send", a.post_send(send_of(1), 0, 8));
  expect_completion(j, "the Send", a.send_cq, {IBV_WC_RETRY_EXC_ERR});
  expect_empty(j, "the receive stays posted", b.recv_cq);
  expect_same_state(j, "the Send, at the peer", b, IBV_QPS_RTS);
}

// What has completed with success has reached the peer, even if the sender is destroyed.
void completed_before(Judge& j) {
  Pair pair(j);
  post_receives(pair.b, 1);
  must(j, "ibv_post_send", pair.a.post_send(send_of(1), 0, 8));
  expect_done(j, "the Send", pair.a.send_cq, 1);
  j.expect("ibv_destroy_qp", pair.a.qp.destroy());
  expect_done(j, "the receive", pair.b.recv_cq, 0);
}

// While Sends wait for a receive, the sender goes to ERR: the receiver has no part in this. Twenty
// rounds, because the fault depends on when the receiver hears of it.
void sender_fails_while_waiting(Judge& j) {
  for (int round = 0; round < 20; ++round) {
    Pair pair(j);
    for (unsigned i = 0; i < 5; ++i) {
      j.require(fmt::format("ibv_post_send, number {}, round {}", i, round),
                pair.a.post_send(send_of(i), 0, 8));
    }
    j.require(fmt::format("ibv_modify_qp to ERR, round {}", round), pair.a.modify(IBV_QPS_ERR));
    expect_flushed(j, fmt::format("the Sends, round {}", round), pair.a.send_cq, 0, 5);
    exchange_elsewhere(j);
    expect_same_state(j, fmt::format("round {}", round), pair.b, IBV_QPS_RTS);
  }
}

// The first request fails at its own end: whether or not another one has succeeded before, and
// however long it is, the peer stays in RTS.
template <bool after_good, std::uint32_t length>
void first_fails(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_recv", pair.b.post_recv(9, 0, 8));
  if (after_good) {
    j.require("ibv_post_send, a good Write",
              pair.a.post_send(pair.a.request(1, IBV_WR_RDMA_WRITE, pair.b), 0, 8));
    expect_done(j, "the good Write", pair.a.send_cq, 1);
  }
  ibv_sge bad = pair.a.sge(0, length);
  bad.lkey ^= 0xFF00;
  j.require("ibv_post_send, a bad Read",
            post(pair.a, pair.a.request(2, IBV_WR_RDMA_READ, pair.b), {bad}));
  expect_completion(j, "the bad Read", pair.a.send_cq, {IBV_WC_LOC_PROT_ERR});
  expect_state(j, "state of the requester", pair.a, IBV_QPS_ERR);
  expect_no_event(j, "events");
  exchange_elsewhere(j);
  expect_same_state(j, "the bad Read, at the peer", pair.b, IBV_QPS_RTS);
  expect_empty(j, "the receive of the peer stays posted", pair.b.recv_cq);
}

// SQE ---------------------------------------------------------------------------------------------

// A failed request stops the send queue; later requests are flushed; the receive side goes on; the
// step to RTS starts the send queue again.
template <ibv_qp_type type>
void stopped_and_resumed(Judge& j) {
  Pair pair(j, {.type = type});
  const Ah to_self = type == IBV_QPT_UD ? way_to_self(j, pair.a) : Ah();
  const auto send = [&](End& from, End& to, std::uint64_t id) {
    return post(from, send_to(id, to_self.get(), to), {from.sge(0, 8)});
  };
  ibv_sge bad = pair.a.sge(0, 8);
  bad.lkey ^= 0xFF00;
  j.require("ibv_post_send, unknown lkey", post(pair.a, send_to(1, to_self.get(), pair.b), {bad}));
  expect_completion(j, "the bad Send", pair.a.send_cq, {IBV_WC_LOC_PROT_ERR});
  expect_state(j, "state", pair.a, IBV_QPS_SQE);
  j.require("ibv_post_send in SQE", send(pair.a, pair.b, 2));
  expect_flushed(j, "a Send in SQE", pair.a.send_cq, 2, 1);
  j.require("ibv_post_recv in SQE", pair.a.post_recv(3, 0, 64));
  j.require("ibv_post_send of the peer", send(pair.b, pair.a, 4));
  expect_done(j, "the Send of the peer", pair.b.send_cq, 4);
  expect_done(j, "a receive in SQE", pair.a.recv_cq, 3);
  j.expect("ibv_modify_qp to RTS", pair.a.modify(IBV_QPS_RTS));
  expect_same_state(j, "the step to RTS", pair.a, IBV_QPS_RTS);
  expect_same_state(j, "the error of its peer", pair.b, IBV_QPS_RTS);
  j.require("ibv_post_recv of the peer", pair.b.post_recv(5, 0, 64));
  j.require("ibv_post_send in RTS", send(pair.a, pair.b, 6));
  expect_done(j, "a Send in RTS", pair.a.send_cq, 6);
  expect_done(j, "the receive of the peer", pair.b.recv_cq, 5);
}

// SQD ---------------------------------------------------------------------------------------------

// In SQD, posted requests wait. An event reports that those before are complete. The call ignores
// sq_draining.
void drain(Judge& j) {
  Pair pair(j);
  post_receives(pair.b, 2);
  j.require("ibv_post_send", pair.a.post_send(send_of(1), 0, 8));
  pair.a.attr.en_sqd_async_notify = pair.a.attr.sq_draining = 1;
  j.require("ibv_modify_qp to SQD",
            pair.a.modify(IBV_QPS_SQD, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
  j.expect_text("event", next_affiliated(j), {ibv_event_type_str(IBV_EVENT_SQ_DRAINED)});
  expect_done(j, "the Send before", pair.a.send_cq, 1);
  j.expect_equal("sq_draining", query(pair.a, IBV_QP_STATE).sq_draining, 0);
  j.require("ibv_post_send in SQD", pair.a.post_send(send_of(2), 0, 8));
  exchange_elsewhere(j);
  expect_empty(j, "the Send waits", pair.a.send_cq);
  j.expect("ibv_modify_qp to RTS", pair.a.modify(IBV_QPS_RTS));
  expect_done(j, "the Send that waited", pair.a.send_cq, 2);
}

// RESET -------------------------------------------------------------------------------------------

/// Posts as many unsignaled Sends as the queue holds. Returns the errno value of the first that
/// fails, or 0.
int fill_sends(End& end) {
  int code = 0;
  const auto most = query(end).cap.max_send_wr;
  for (std::uint32_t i = 0; i < most && code == 0; ++i) code = end.post_send(send_of(i, 0), 0, 8);
  return code;
}

// What is outstanding is forgotten, and nothing completes. The send queue is empty again, also of
// unsignaled requests that were done.
void reset_drops(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_recv", pair.a.post_recv(1, 0, 8));
  j.require("ibv_post_recv of the peer", pair.b.post_recv(1, 0, 8));
  j.require("ibv_post_send", fill_sends(pair.a));
  expect_done(j, "the receive of the peer", pair.b.recv_cq, 1);
  j.expect("ibv_modify_qp to RESET", pair.a.modify(IBV_QPS_RESET));
  expect_same_state(j, "the step", pair.a, IBV_QPS_RESET);
  exchange_elsewhere(j);
  expect_empty(j, "no request completes", pair.a.send_cq);
  expect_empty(j, "no receive completes", pair.a.recv_cq);
  bring(pair.a, IBV_QPS_RTS);
  j.expect("ibv_post_send up to max_send_wr after RESET", fill_sends(pair.a));
}

template <ibv_qp_type type>
void reused(Judge& j) {
  Pair pair(j, {.type = type});
  for (int round = 0; round < 3; ++round) {
    const Ah way = type == IBV_QPT_UD ? way_to_self(j, pair.a) : Ah();
    must(j, "ibv_post_recv", pair.b.post_recv(1, 0, 64));
    must(j, "ibv_post_send", post(pair.a, send_to(2, way.get(), pair.b), {pair.a.sge(0, 8)}));
    expect_done(j, fmt::format("the Send, round {}", round), pair.a.send_cq, 2);
    expect_done(j, fmt::format("the receive, round {}", round), pair.b.recv_cq, 1);
    for (End* const end : {&pair.a, &pair.b}) {
      const char* const whose = end == &pair.a ? "first" : "second";
      if (round == 1) end->modify(IBV_QPS_ERR);
      j.require(fmt::format("RESET of the {}, round {}", whose, round), end->modify(IBV_QPS_RESET));
    }
    for (const auto to : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      for (End* const end : {&pair.a, &pair.b}) {
        const char* const whose = end == &pair.a ? "first" : "second";
        j.require(fmt::format("{} of the {}, round {}", state_name(to), whose, round),
                  step(*end, to));
      }
    }
  }
}

// After RESET, the same attributes are required as at first, and none is left of before.
void reset_attributes(Judge& j) {
  End end(j);
  bring(end, IBV_QPS_RTS);
  j.require("ibv_modify_qp to RESET", end.modify(IBV_QPS_RESET));
  j.expect("ibv_modify_qp to INIT without port", step(end, IBV_QPS_INIT, IBV_QP_PORT), {EINVAL});
  j.expect("ibv_modify_qp to INIT", step(end, IBV_QPS_INIT));
  j.expect("ibv_modify_qp to RTR without path", step(end, IBV_QPS_RTR, IBV_QP_AV), {EINVAL});
  j.expect("ibv_modify_qp to RTR", step(end, IBV_QPS_RTR));
}

// A queue pair may be connected to itself.
void to_itself(Judge& j) {
  End end(j);
  bring(end, IBV_QPS_RTS);
  j.require("ibv_post_recv", end.post_recv(1, 100, 8));
  std::memset(end.memory(), 'x', 8);
  j.require("ibv_post_send", end.post_send(send_of(2), 0, 8));
  expect_done(j, "the Send", end.send_cq, 2);
  expect_done(j, "the receive", end.recv_cq, 1);
  expect_bytes(j, "the message", end.memory(100), 8, 'x');
}

// The queue pair works while another context of the process and other queue pairs fail.
void neighbours(Judge& j) {
  Pair good(j);
  {
    Pair bad(j);
    auto wr = bad.a.request(1, IBV_WR_RDMA_READ, bad.b);
    wr.wr.rdma.rkey ^= 0xFF00;
    j.require("ibv_post_send of the bad pair", bad.a.post_send(wr, 0, 8));
    expect_state(j, "state of the bad pair", bad.a, IBV_QPS_ERR);
  }
  j.require("ibv_post_recv", good.b.post_recv(1, 0, 8));
  j.require("ibv_post_send", good.a.post_send(send_of(2), 0, 8));
  expect_done(j, "the Send", good.a.send_cq, 2);
  expect_done(j, "the receive", good.b.recv_cq, 1);
}

// clang-format off
constexpr Case kCases[] = {
    {"data/no-receive/retries-exceeded", "IBV-323 IBV-325", "fails only the sender if the peer has no receive and rnr_retry is 0", rnr_exceeded, kByHand | kSrq},
    {"data/no-receive/late", "IBV-324", "retries a Send until a receive is posted if rnr_retry is 7", late_receive<false>, kByHand},
    {"data/no-receive/late-srq", "IBV-324", "retries a Send until a receive is posted to the SRQ if rnr_retry is 7", late_receive<true>, kByHand | kSrq},
    {"data/no-receive/for-some", "IBV-324", "completes as many Sends as there are receives", receives_for_some, kByHand},
    {"data/no-receive/iwarp", "", "delivers a message whose receive is posted late, or ends the connection", iwarp_no_receive, kIwarp},
    {"data/gone/destroyed", "IBV-322 IBV-500", "fails the first request after the peer's queue pair was destroyed", peer_gone<Gone::kDestroyed>, kByHand},
    {"data/gone/error", "IBV-322 IBV-455", "fails the first request after the peer went to ERR", peer_gone<Gone::kError>, kByHand},
    {"data/gone/reset", "IBV-322", "fails the first request after the peer went to RESET", peer_gone<Gone::kReset>, kByHand},
    {"data/gone/wrong-psn", "IBV-473", "fails a request whose PSN the peer does not expect", wrong_psn, kByHand},
    {"data/gone/completed-before", "IBV-498", "delivers a message whose Send completed before its queue pair was destroyed", completed_before, kByHand},
    {"data/gone/sender-while-waiting", "IBV-455", "keeps the receiver in RTS when the sender goes to ERR", sender_fails_while_waiting, kByHand},
    {"data/gone/first-request", "IBV-315", "keeps the peer in RTS when the first request fails locally", first_fails<false, 64>, kByHand | kSrq},
    {"data/gone/second-request", "IBV-315", "keeps the peer in RTS when a later request fails locally", first_fails<true, 64>, kByHand | kSrq},
    {"data/gone/first-request-large", "IBV-315", "keeps the peer in RTS when a large request fails locally", first_fails<false, 60000>, kByHand | kSrq},
    {"data/sqe/uc", "IBV-447 IBV-461", "stops the send queue of a UC queue pair after a failed request, until the queue pair returns to RTS", stopped_and_resumed<IBV_QPT_UC>, kByHand | kUc},
    {"data/sqe/ud", "IBV-447 IBV-461", "stops the send queue of a UD queue pair after a failed request, until the queue pair returns to RTS", stopped_and_resumed<IBV_QPT_UD>, kUd},
    {"data/sqd/drain", "IBV-448 IBV-449 IBV-484 IBV-603", "drains the send queue in SQD, and resumes it in RTS", drain, kByHand},
    {"data/reset/outstanding", "IBV-310 IBV-453", "discards outstanding requests and receives in RESET", reset_drops, kByHand},
    {"data/reset/reused", "IBV-453 IBV-462", "connects a queue pair again after RESET", reused<IBV_QPT_RC>, kByHand},
    {"data/reset/uc-reused", "IBV-453 IBV-462", "connects a UC queue pair again after RESET", reused<IBV_QPT_UC>, kByHand | kUc},
    {"data/reset/ud-reused", "IBV-453 IBV-462", "sends and receives on a UD queue pair again after RESET", reused<IBV_QPT_UD>, kUd},
    {"data/reset/attributes", "IBV-453", "requires all attributes again after RESET", reset_attributes, kByHand},
    {"data/itself", "", "connects a queue pair to itself", to_itself, kByHand},
    {"data/neighbours", "", "keeps a queue pair working when other queue pairs fail", neighbours},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::data_peers

iwarp::judge::Table iwarp::judge::data_peers_cases() { return data_peers::kCases; }
