// SPDX-License-Identifier: Apache-2.0
// Cases about shared receive queues whose receives messages consume: sharing, the limit, and
// destroying.
#include "judge/cases/cases.hpp"
#include "judge/tools/ends.hpp"

namespace iwarp::judge::queues_srq_messages {
namespace {

/// Two pairs whose ends b share the queue of the first.
struct Shared {
  explicit Shared(Judge& j) : one(j, {}, {.has_srq = true}), other(j, {}, options()) {}
  EndOptions options() {
    return {.has_srq = true, .pd = one.b.pd.get(), .shared_srq = one.b.srq.get()};
  }
  Pair one;
  Pair other;
};

void send(Judge& j, const std::string& step, Pair& pair, std::uint64_t wr_id) {
  j.require(step + ": ibv_post_send", pair.a.post_send(pair.a.request(7, IBV_WR_SEND, pair.b)));
  const ibv_wc wc = expect_completion(j, step, pair.b.recv_cq);
  j.expect_equal(step + ": wr_id", wc.wr_id, wr_id);
  j.expect_true(step + ": qp_num", wc.qp_num == pair.b.qp->qp_num,
                "the queue pair that received it");
}

void shared(Judge& j) {
  Shared s(j);
  for (unsigned i = 1; i <= 4; ++i) {
    j.require("ibv_post_srq_recv " + std::to_string(i), s.one.b.post_recv(i));
  }
  send(j, "message to the first queue pair", s.one, 1);
  send(j, "message to the second queue pair", s.other, 2);
  send(j, "second message to the second queue pair", s.other, 3);
  send(j, "second message to the first queue pair", s.one, 4);
}

void survives_error(Judge& j) {
  Shared s(j);
  j.require("ibv_post_srq_recv 1", s.one.b.post_recv(1));
  j.require("ibv_post_srq_recv 2", s.one.b.post_recv(2));
  j.require("ibv_modify_qp to ERR", s.one.b.modify(IBV_QPS_ERR));
  send(j, "message to the other queue pair", s.other, 1);
  send(j, "second message to the other queue pair", s.other, 2);
  expect_empty(j, "completions of the failed queue pair", s.one.b.recv_cq);
}

void survives_destroy(Judge& j) {
  Shared s(j);
  j.require("ibv_post_srq_recv 1", s.one.b.post_recv(1));
  j.require("ibv_post_srq_recv 2", s.one.b.post_recv(2));
  close(s.one);
  send(j, "message to the other queue pair", s.other, 1);
  send(j, "second message to the other queue pair", s.other, 2);
}

// The limit -------------------------------------------------------------------------------------

void arm(Judge& j, const Srq& srq, std::uint32_t limit) {
  ibv_srq_attr attr{.max_wr = 0, .max_sge = 0, .srq_limit = limit};
  j.require("ibv_modify_srq with srq_limit " + std::to_string(limit),
            errno_of(ibv_modify_srq(srq.get(), &attr, IBV_SRQ_LIMIT)));
}

void expect_limit(Judge& j, const std::string& step, const Srq& srq, std::uint32_t limit) {
  ibv_srq_attr attr{};
  j.require(step + ": ibv_query_srq", errno_of(ibv_query_srq(srq.get(), &attr)));
  j.expect_equal(step, attr.srq_limit, limit);
}

/// Posts four receives, arms the limit, and consumes receives.
struct Limited {
  explicit Limited(Judge& of) : j(of), pair(of, {}, {.has_srq = true}) {
    for (unsigned i = 1; i <= 4; ++i) {
      j.require("ibv_post_srq_recv " + std::to_string(i), pair.b.post_recv(i));
    }
  }
  void consume(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      ++sent;
      send(j, "message " + std::to_string(sent), pair, sent);
    }
  }
  void expect_event(const std::string& step) {
    ibv_async_event event = require_async(j, step, IBV_EVENT_SRQ_LIMIT_REACHED);
    j.expect_true(step + ": srq", event.element.srq == pair.b.srq.get(), "the queue");
    ibv_ack_async_event(&event);
  }
  Judge& j;
  Pair pair;
  unsigned sent = 0;
};

void limit_event(Judge& j) {
  Limited l(j);
  arm(j, l.pair.b.srq, 2);
  expect_limit(j, "srq_limit when it is armed", l.pair.b.srq, 2);
  l.consume(2);
  expect_limit(j, "srq_limit with two receives", l.pair.b.srq, 2);
  j.expect_true("event with two receives", !has_async(j), "no event");
  l.consume(1);
  l.expect_event("event with one receive");
  expect_limit(j, "srq_limit after the event", l.pair.b.srq, 0);
  l.consume(1);
  j.expect_true("event after the event", !has_async(j), "no event");
}

void limit_again(Judge& j) {
  Limited l(j);
  arm(j, l.pair.b.srq, 4);
  l.consume(1);
  l.expect_event("first event");
  arm(j, l.pair.b.srq, 3);
  l.consume(1);
  l.expect_event("second event");
}

void limit_above_content(Judge& j) {
  Limited l(j);
  arm(j, l.pair.b.srq, 6);
  l.consume(1);
  l.expect_event("event");
}

void limit_disarmed(Judge& j) {
  Limited l(j);
  arm(j, l.pair.b.srq, 3);
  arm(j, l.pair.b.srq, 0);
  expect_limit(j, "srq_limit", l.pair.b.srq, 0);
  l.consume(4);
  j.expect_true("event of a limit that was disarmed", !has_async(j), "no event");
}

void destroy_used(Judge& j) {
  Pair pair(j, {}, {.has_srq = true});
  j.expect("ibv_destroy_srq with a queue pair", pair.b.srq.destroy(), {EBUSY});
  j.require("ibv_post_srq_recv", pair.b.post_recv(1));
  send(j, "message after the failed call", pair, 1);
  close(pair);
  j.expect("ibv_destroy_srq without a queue pair", pair.b.srq.destroy());
}

// clang-format off
constexpr Case kCases[] = {
    {"srq/shared/order", "IBV-275 IBV-371 IBV-372", "consumes the oldest receive of an SRQ for each message", shared, kSrq},
    {"srq/shared/error", "IBV-305 IBV-377", "keeps the receives of an SRQ when a queue pair fails", survives_error, kSrq},
    {"srq/shared/destroy", "IBV-377", "keeps the receives of an SRQ when a queue pair is destroyed", survives_destroy, kSrq},
    {"srq/limit/event", "IBV-355 IBV-356 IBV-357 IBV-365 IBV-606", "reports SRQ_LIMIT_REACHED once when fewer receives than srq_limit remain", limit_event, kSrq},
    {"srq/limit/again", "IBV-356 IBV-357", "reports SRQ_LIMIT_REACHED again after srq_limit was set again", limit_again, kSrq},
    {"srq/limit/above-content", "IBV-358", "reports SRQ_LIMIT_REACHED if srq_limit exceeds the number of receives", limit_above_content, kSrq},
    {"srq/limit/disarmed", "IBV-360", "does not report SRQ_LIMIT_REACHED after srq_limit was set to 0", limit_disarmed, kSrq},
    {"srq/destroy/used", "IBV-350", "refuses to destroy an SRQ that a queue pair uses", destroy_used, kSrq},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::queues_srq_messages

iwarp::judge::Table iwarp::judge::queues_srq_messages_cases() {
  return queues_srq_messages::kCases;
}
