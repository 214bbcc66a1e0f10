// SPDX-License-Identifier: Apache-2.0
// Cases about asynchronous events: what causes one, what it names, and acknowledging it.
#include <fcntl.h>

#include "judge/cases/cases.hpp"
#include "judge/tools/access.hpp"
#include "judge/tools/queue_pairs.hpp"

namespace iwarp::judge::queues_events {
namespace {

constexpr EndOptions kWithSrq{.has_srq = true};

void nonblocking(Judge& j) {
  const int fd = j.context()->async_fd;
  const int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  ibv_async_event event{};
  errno = 0;
  const int code = ibv_get_async_event(j.context(), &event);
  j.expect_true("ibv_get_async_event without an event", code != 0, "an error");
  j.expect("errno", errno, {EAGAIN});
}

/// Causes IBV_EVENT_QP_LAST_WQE_REACHED.
void fail(Judge& j, End& end) { j.require("ibv_modify_qp to ERR", end.modify(IBV_QPS_ERR)); }

// Compares that there is no event: the next one is that of another queue pair.
void expect_next_event_of_other(Judge& j) {
  Pair other(j, {}, kWithSrq);
  fail(j, other.b);
  ibv_async_event event =
      require_async(j, "next event: that of another queue pair", IBV_EVENT_QP_LAST_WQE_REACHED);
  j.expect_true("qp of the next event", event.element.qp == other.b.qp.get(),
                "the other queue pair");
  ibv_ack_async_event(&event);
}

void last_receive(Judge& j) {
  Pair pair(j, {}, kWithSrq);
  j.require("ibv_post_srq_recv", pair.b.post_recv(1));
  fail(j, pair.b);
  ibv_async_event event = require_async(j, "event", IBV_EVENT_QP_LAST_WQE_REACHED);
  j.expect_true("qp", event.element.qp == pair.b.qp.get(), "the queue pair");
  ibv_ack_async_event(&event);
  expect_next_event_of_other(j);
}

void last_receive_of_peer_error(Judge& j) {
  Pair pair(j, {}, kWithSrq);
  expect_denied(j, "Read by a wrong key", pair,
                remote(IBV_WR_RDMA_READ, pair.b.address(), pair.b.mr->rkey ^ 1), 8);
  // The device may report the access first.
  bool is_reported = false;
  wait_for([&] {
    const auto event = next_event(j.context(), std::chrono::milliseconds(0));
    if (event && event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED) is_reported = true;
    return is_reported;
  });
  j.expect_true("IBV_EVENT_QP_LAST_WQE_REACHED", is_reported, "the event arrives");
}

/// A pair whose receive queue at `b` overflows by one completion.
struct Overflow {
  explicit Overflow(Judge& j) : options(smallest(j)), pair(j, large(), options) {
    const auto count = static_cast<std::uint32_t>(pair.b.recv_cq->cqe) + 1;
    if (count > options.cap.max_recv_wr) j.not_applicable("the sizes of equal queues differ a lot");
    for (std::uint32_t i = 0; i < count; ++i) {
      if (const int code = pair.b.post_recv(i)) j.require("ibv_post_recv", code);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const int code = pair.a.post_send(pair.a.request(i, IBV_WR_SEND, pair.b));
      if (code != 0) j.require("ibv_post_send", code);
    }
    event = require_async(j, "event", IBV_EVENT_CQ_ERR);
  }
  void acknowledge() { ibv_ack_async_event(&event); }

  EndOptions options;  ///< of `b`, whose work queues hold more requests than a completion queue
  Pair pair;
  ibv_async_event event{};

 private:
  static EndOptions smallest(Judge& j) {
    Cq cq(ibv_create_cq(j.context(), 1, nullptr, nullptr, 0));
    j.require("ibv_create_cq", errno_of(cq.get()));
    // A device may give each queue another size.
    constexpr std::uint32_t kDifference = 64;
    const auto count = static_cast<std::uint32_t>(cq->cqe) + 1 + kDifference;
    if (count > static_cast<std::uint32_t>(j.attributes().max_qp_wr)) {
      j.not_applicable("the smallest completion queue is larger than max_qp_wr");
    }
    EndOptions out{.cqe = 1};
    out.cap.max_send_wr = out.cap.max_recv_wr = count;
    return out;
  }
  EndOptions large() const {
    EndOptions out = options;
    out.cqe = static_cast<int>(options.cap.max_recv_wr) + 7;
    return out;
  }
};

void cq_overflow(Judge& j) {
  Overflow overflow(j);
  j.expect_true("cq", overflow.event.element.cq == overflow.pair.b.recv_cq.get(),
                "the queue that overflowed");
  overflow.acknowledge();
  close(overflow.pair);
  j.expect("ibv_destroy_cq", overflow.pair.b.recv_cq.destroy());
}

void cq_overflow_keeps(Judge& j) {
  Overflow overflow(j);
  overflow.acknowledge();
  const ibv_wc wc = expect_completion(j, "oldest completion", overflow.pair.b.recv_cq);
  j.expect_equal("wr_id", wc.wr_id, 0);
  expect_state(j, "state of the queue pair", overflow.pair.b, IBV_QPS_ERR);
}

// Access ----------------------------------------------------------------------------------------

template <ibv_wr_opcode opcode>
void access_error(Judge& j) {
  Pair pair(j);
  expect_denied(j, "request by a wrong key", pair,
                remote(opcode, pair.b.address(), pair.b.mr->rkey ^ 1), 8);
  ibv_async_event event = require_async(j, "event of the responder", IBV_EVENT_QP_ACCESS_ERR);
  j.expect_true("qp", event.element.qp == pair.b.qp.get(), "the responder");
  ibv_ack_async_event(&event);
  j.expect_true("event of the requester", !has_async(j), "no event");
}

void no_event_of_wrong_receive(Judge& j) {
  Pair pair(j);
  ibv_sge sge = pair.b.sge(0, 8);
  sge.lkey ^= 0xFF00;
  j.require("ibv_post_recv", receive(pair.b, 1, {sge}));
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(2, IBV_WR_SEND, pair.b), 0, 8));
  expect_completion(j, "completion of the receive", pair.b.recv_cq, {IBV_WC_LOC_PROT_ERR});
  expect_completion(j, "completion of the Send", pair.a.send_cq, {IBV_WC_REM_OP_ERR});
  expect_next_event_of_other(j);
}

void no_event_of_missing_receive(Judge& j) {
  Pair pair(j, {.rnr_retry = 0});
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(2, IBV_WR_SEND, pair.b), 0, 8));
  expect_completion(j, "completion of the Send", pair.a.send_cq, {IBV_WC_RNR_RETRY_EXC_ERR});
  expect_next_event_of_other(j);
}

void no_event_of_wrong_send(Judge& j) {
  Pair pair(j);
  std::swap(pair.a.mr, pair.b.mr);
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(2, IBV_WR_SEND, pair.b), 0, 8));
  std::swap(pair.a.mr, pair.b.mr);
  expect_completion(j, "completion of the Send", pair.a.send_cq, {IBV_WC_LOC_PROT_ERR});
  expect_next_event_of_other(j);
}

void no_event_of_end(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_recv", pair.b.post_recv(1));
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(2, IBV_WR_SEND, pair.b)));
  expect_completion(j, "completion of the receive", pair.b.recv_cq);
  expect_completion(j, "completion of the Send", pair.a.send_cq);
  j.require("ibv_destroy_qp of the peer", pair.a.qp.destroy());
  expect_next_event_of_other(j);
}

void descriptor(Judge& j) {
  Pair pair(j, {}, kWithSrq);
  j.expect_true("poll(2) without an event", !has_async(j), "not readable");
  fail(j, pair.b);
  j.expect_true("poll(2) with an event", wait_for([&] { return has_async(j); }), "readable");
  ibv_async_event event = require_async(j, "event", IBV_EVENT_QP_LAST_WQE_REACHED);
  ibv_ack_async_event(&event);
  j.expect_true("poll(2) after the event", !has_async(j), "not readable");
}

// Acknowledging ---------------------------------------------------------------------------------

void qp_waits(Judge& j) {
  Pair pair(j, {}, kWithSrq);
  fail(j, pair.b);
  ibv_async_event event = require_async(j, "event", IBV_EVENT_QP_LAST_WQE_REACHED);
  expect_waits(j, "ibv_destroy_qp", pair.b.qp, [&] { ibv_ack_async_event(&event); });
}

void srq_waits(Judge& j) {
  Pair pair(j, {}, kWithSrq);
  j.require("ibv_post_srq_recv", pair.b.post_recv(1));
  ibv_srq_attr attr{.max_wr = 0, .max_sge = 0, .srq_limit = 1};
  j.require("ibv_modify_srq", errno_of(ibv_modify_srq(pair.b.srq.get(), &attr, IBV_SRQ_LIMIT)));
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(2, IBV_WR_SEND, pair.b)));
  expect_completion(j, "completion of the receive", pair.b.recv_cq);
  ibv_async_event event = require_async(j, "event", IBV_EVENT_SRQ_LIMIT_REACHED);
  close(pair);
  expect_waits(j, "ibv_destroy_srq", pair.b.srq, [&] { ibv_ack_async_event(&event); });
}

void cq_waits(Judge& j) {
  Overflow overflow(j);
  close(overflow.pair);
  expect_waits(j, "ibv_destroy_cq", overflow.pair.b.recv_cq, [&] { overflow.acknowledge(); });
}

void unread(Judge& j) {
  {
    Pair pair(j, {}, kWithSrq);
    fail(j, pair.b);
    j.require_true("async_fd", wait_for([&] { return has_async(j); }), "readable");
    close(pair);
  }
  expect_next_event_of_other(j);
}

void of_context(Judge& j) {
  Context other(j.open());
  Pair pair(j, {}, kWithSrq);
  fail(j, pair.b);
  ibv_async_event event = require_async(j, "event", IBV_EVENT_QP_LAST_WQE_REACHED);
  ibv_ack_async_event(&event);
  j.expect_true("event of another context", !is_readable(other->async_fd), "no event");
}

void blocks(Judge& j) {
  Pair pair(j, {}, kWithSrq);
  ibv_async_event event{};
  int code = -1;
  Waiter waiter([&] { code = ibv_get_async_event(j.context(), &event); });
  j.expect_true("ibv_get_async_event without an event", waiter.sleeps(), "blocks");
  fail(j, pair.b);
  waiter.join();
  j.require("ibv_get_async_event", errno_of(code));
  j.expect_text("event", ibv_event_type_str(event.event_type),
                {ibv_event_type_str(IBV_EVENT_QP_LAST_WQE_REACHED)});
  ibv_ack_async_event(&event);
}

// clang-format off
constexpr Case kCases[] = {
    {"event/nonblocking", "IBV-594", "returns EAGAIN from ibv_get_async_event() with O_NONBLOCK if no event is queued", nonblocking},
    {"event/blocks", "IBV-593", "blocks in ibv_get_async_event() until an event arrives", blocks, kSrq},
    {"event/descriptor", "IBV-595", "makes async_fd readable while an event is queued", descriptor, kSrq},
    {"event/last-receive", "IBV-376 IBV-593", "reports QP_LAST_WQE_REACHED of a failed queue pair with an SRQ", last_receive, kSrq},
    {"event/last-receive-after-access", "IBV-376", "reports QP_LAST_WQE_REACHED after an access error of the peer", last_receive_of_peer_error, kSrq},
    {"event/cq-overflow", "IBV-290 IBV-605", "reports the overflow of a completion queue", cq_overflow},
    {"event/cq-overflow-keeps", "IBV-291", "keeps the completions of a completion queue that overflowed", cq_overflow_keeps},
    {"event/access-read", "IBV-328 IBV-601", "reports QP_ACCESS_ERR to the responder of a Read with a wrong rkey", access_error<IBV_WR_RDMA_READ>, kByHand},
    {"event/access-write", "IBV-328 IBV-601", "reports QP_ACCESS_ERR to the responder of a Write with a wrong rkey", access_error<IBV_WR_RDMA_WRITE>, kByHand},
    {"event/none/receive", "IBV-612", "reports no event if a receive has a wrong lkey", no_event_of_wrong_receive, kByHand | kSrq},
    {"event/none/missing-receive", "IBV-325", "reports no event if no receive is posted", no_event_of_missing_receive, kByHand | kSrq},
    {"event/none/end", "IBV-613", "reports no event if the peer destroys its queue pair", no_event_of_end, kByHand | kSrq},
    {"event/none/send", "IBV-611", "reports no event if a Send has a wrong lkey", no_event_of_wrong_send, kByHand | kSrq},
    {"event/acknowledge/queue-pair", "IBV-496 IBV-597", "destroys a queue pair only after its events are acknowledged", qp_waits, kByHand | kSrq},
    {"event/acknowledge/srq", "IBV-597", "destroys an SRQ only after its events are acknowledged", srq_waits, kSrq},
    {"event/acknowledge/completion-queue", "IBV-597", "destroys a completion queue only after its asynchronous events are acknowledged", cq_waits},
    {"event/unread", "IBV-598", "discards unread events of a queue pair that is destroyed", unread, kSrq},
    {"event/context", "IBV-614", "reports an event only to the context of its object", of_context, kSrq},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::queues_events

iwarp::judge::Table iwarp::judge::queues_events_cases() { return queues_events::kCases; }
