// SPDX-License-Identifier: Apache-2.0
// Cases about completion queues: creating, polling, resizing and destroying.
#include <vector>

#include "judge/cases/cases.hpp"
#include "judge/tools/ends.hpp"

namespace iwarp::judge::queues_completions {
namespace {

// Creating --------------------------------------------------------------------------------------

void fields(Judge& j) {
  Channel channel(ibv_create_comp_channel(j.context()));
  int mine = 0;
  Cq cq(ibv_create_cq(j.context(), 10, &mine, channel.get(), 0));
  j.require("ibv_create_cq", errno_of(cq.get()));
  j.expect_true("context", cq->context == j.context(), "that of the call");
  j.expect_true("channel", cq->channel == channel.get(), "that of the call");
  j.expect_true("cq_context", cq->cq_context == &mine, "that of the call");
  j.expect_true("cqe", cq->cqe >= 10, "at least that of the call");
  j.expect("ibv_destroy_cq", cq.destroy());
}

template <int cqe>
void capacity(Judge& j) {
  if (cqe > j.attributes().max_cqe) j.not_applicable("max_cqe is smaller");
  Cq cq(ibv_create_cq(j.context(), cqe, nullptr, nullptr, 0));
  j.require("ibv_create_cq", errno_of(cq.get()));
  j.expect_true("cqe", cq->cqe >= cqe, "at least that of the call");
}

int error_of(Judge& j, int cqe, int vector = 0) {
  Cq cq(ibv_create_cq(j.context(), cqe, nullptr, nullptr, vector));
  return errno_of(cq.get());
}

void wrong_capacity(Judge& j) {
  j.expect("ibv_create_cq with 0 entries", error_of(j, 0), {EINVAL});
  j.expect("ibv_create_cq with -1 entries", error_of(j, -1), {EINVAL});
  const int most = j.attributes().max_cqe;
  if (most == INT32_MAX) return;
  j.expect("ibv_create_cq with max_cqe + 1 entries", error_of(j, most + 1), {EINVAL});
}

// The device may have no memory for its largest queue.
void largest(Judge& j) {
  const int most = j.attributes().max_cqe;
  if (most > 1 << 20) j.not_applicable("max_cqe is above 2^20, and takes much memory");
  j.expect("ibv_create_cq with max_cqe entries", error_of(j, most), {0, ENOMEM});
}

void vectors(Judge& j) {
  const int count = j.context()->num_comp_vectors;
  j.expect("ibv_create_cq with the last vector", error_of(j, 1, count - 1));
  j.expect("ibv_create_cq with a vector after the last", error_of(j, 1, count), {EINVAL});
  j.expect("ibv_create_cq with vector -1", error_of(j, 1, -1), {EINVAL});
}

// Polling ---------------------------------------------------------------------------------------

void poll_empty(Judge& j) {
  End end(j);
  ibv_wc wc{};
  j.expect_true("ibv_poll_cq of an empty queue", ibv_poll_cq(end.send_cq.get(), 1, &wc) == 0, "0");
}

constexpr int kMessages = 8;

/// Posts receives 0 to 7 to `b`, and sends empty messages to all of them. Returns when the last one
/// has arrived, which is told by an event: the completions remain in the queue.
void send_messages(Judge& j, Pair& pair) {
  for (unsigned i = 0; i < kMessages; ++i) {
    j.require("ibv_post_recv " + std::to_string(i), pair.b.post_recv(i));
  }
  for (unsigned i = 0; i < kMessages; ++i) {
    ibv_send_wr wr = pair.a.request(i, IBV_WR_SEND, pair.b);
    const bool is_last = i + 1 == kMessages;
    if (is_last) {
      ibv_req_notify_cq(pair.b.recv_cq.get(), 1);
      wr.send_flags |= IBV_SEND_SOLICITED;
    }
    j.require("ibv_post_send " + std::to_string(i), pair.a.post_send(wr));
  }
  take_cq_event(j, pair.b.channel);
}

constexpr EndOptions kWithChannel{.has_channel = true};

template <int at_once>
void poll_order(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  send_messages(j, pair);
  std::vector<std::uint64_t> found;
  std::vector<ibv_wc> batch(at_once);
  int got = 0;
  bool fits = true;
  while ((got = ibv_poll_cq(pair.b.recv_cq.get(), at_once, batch.data())) > 0) {
    fits &= got <= at_once;
    for (int i = 0; i < got; ++i) found.push_back(batch[static_cast<std::size_t>(i)].wr_id);
  }
  j.expect_true("result of ibv_poll_cq", fits && got == 0, "at most num_entries, and 0 at the end");
  const std::vector<std::uint64_t> all{0, 1, 2, 3, 4, 5, 6, 7};
  j.expect_true("completions", found == all, "each receive once, in order");
}

void poll_all(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  send_messages(j, pair);
  std::vector<ibv_wc> batch(2 * kMessages);
  const int got = ibv_poll_cq(pair.b.recv_cq.get(), 2 * kMessages, batch.data());
  j.expect_equal("ibv_poll_cq with more entries than completions", static_cast<std::uint64_t>(got),
                 kMessages);
}

void poll_none(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  send_messages(j, pair);
  ibv_wc wc{};
  j.expect_true("ibv_poll_cq with 0 entries", ibv_poll_cq(pair.b.recv_cq.get(), 0, &wc) == 0, "0");
  const ibv_wc first = expect_completion(j, "completion after it", pair.b.recv_cq);
  j.expect_equal("wr_id", first.wr_id, 0);
}

// Resizing --------------------------------------------------------------------------------------

void require_resize(Judge& j, const std::string& step, Cq& cq, int cqe) {
  j.require(step, errno_of(ibv_resize_cq(cq.get(), cqe)));
  j.expect_true(step + ": cqe", cq->cqe >= cqe, "at least that of the call");
}

void expect_messages(Judge& j, Pair& pair) {
  for (unsigned i = 0; i < kMessages; ++i) {
    const std::string step = "completion " + std::to_string(i);
    j.expect_equal(step + ": wr_id", expect_completion(j, step, pair.b.recv_cq).wr_id, i);
  }
}

template <int cqe>
void resize_with_content(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  send_messages(j, pair);
  require_resize(j, "ibv_resize_cq", pair.b.recv_cq, cqe);
  expect_messages(j, pair);
}

void resize_below_content(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  send_messages(j, pair);
  const int before = pair.b.recv_cq->cqe;
  const int code = errno_of(ibv_resize_cq(pair.b.recv_cq.get(), 1));
  if (code == EOPNOTSUPP || code == ENOSYS) j.refuse("ibv_resize_cq", code);
  // A device may succeed, and keep a larger capacity.
  j.expect("ibv_resize_cq below the number of completions", code, {0, EINVAL});
  if (code == 0) {
    j.expect_true("cqe", pair.b.recv_cq->cqe >= kMessages, "at least the completions");
  } else {
    j.expect_true("cqe", pair.b.recv_cq->cqe == before, "unchanged");
  }
  expect_messages(j, pair);
}

void resize_wrong(Judge& j) {
  Cq cq(ibv_create_cq(j.context(), 10, nullptr, nullptr, 0));
  require_resize(j, "ibv_resize_cq to 20 entries", cq, 20);
  const int before = cq->cqe;
  const int most = j.attributes().max_cqe;
  j.expect("ibv_resize_cq to 0 entries", errno_of(ibv_resize_cq(cq.get(), 0)), {EINVAL});
  if (most != INT32_MAX) {
    j.expect("ibv_resize_cq to max_cqe + 1 entries", errno_of(ibv_resize_cq(cq.get(), most + 1)),
             {EINVAL});
  }
  j.expect_true("cqe", cq->cqe == before, "unchanged");
}

// The queue is too small for the messages before it is resized.
void resize_then_fill(Judge& j) {
  EndOptions small = kWithChannel;
  small.cqe = 1;
  Pair pair(j, {}, small);
  require_resize(j, "ibv_resize_cq", pair.b.recv_cq, kMessages);
  send_messages(j, pair);
  expect_messages(j, pair);
}

// Destroying ------------------------------------------------------------------------------------

template <bool of_sends>
void destroy_used(Judge& j) {
  Pair pair(j);
  Cq& cq = of_sends ? pair.a.send_cq : pair.b.recv_cq;
  j.expect("ibv_destroy_cq with a queue pair", cq.destroy(), {EBUSY});
  j.require("ibv_post_recv", pair.b.post_recv(1));
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(2, IBV_WR_SEND, pair.b)));
  expect_completion(j, "completion of the Send", pair.a.send_cq);
  expect_completion(j, "completion of the receive", pair.b.recv_cq);
  close(pair);
  j.expect("ibv_destroy_cq without a queue pair", cq.destroy());
}

void destroy_with_content(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  send_messages(j, pair);
  close(pair);
  j.expect("ibv_destroy_cq with completions", pair.b.recv_cq.destroy());
}

// clang-format off
constexpr Case kCases[] = {
    {"cq/create/fields", "IBV-231", "fills the fields of a completion queue", fields},
    {"cq/create/one", "IBV-232", "creates a completion queue with one entry", capacity<1>},
    {"cq/create/hundred", "IBV-232", "creates a completion queue with 100 entries", capacity<100>},
    {"cq/create/many", "IBV-232", "creates a completion queue with 10,000 entries", capacity<10000>},
    {"cq/create/largest", "IBV-30", "creates a completion queue with max_cqe entries", largest},
    {"cq/create/wrong", "IBV-30 IBV-235", "refuses a completion queue with 0 or more than max_cqe entries", wrong_capacity},
    {"cq/create/vector", "IBV-233", "refuses a comp_vector that does not exist", vectors},

    {"cq/poll/empty", "IBV-271", "returns 0 from ibv_poll_cq() of an empty queue", poll_empty},
    {"cq/poll/one-by-one", "IBV-271 IBV-272", "returns completions in order, one at a time", poll_order<1>},
    {"cq/poll/three", "IBV-271 IBV-272", "returns completions in order, three at a time", poll_order<3>},
    {"cq/poll/all", "IBV-271", "returns all completions if num_entries exceeds their number", poll_all},
    {"cq/poll/none", "IBV-271", "keeps the completions if num_entries is 0", poll_none},

    {"cq/resize/larger", "IBV-238 IBV-239", "keeps the completions of a queue that ibv_resize_cq() enlarges", resize_with_content<200>},
    {"cq/resize/smaller", "IBV-239 IBV-241", "keeps the completions of a queue that ibv_resize_cq() shrinks to their number", resize_with_content<kMessages>},
    {"cq/resize/below-content", "IBV-240", "keeps the completions if ibv_resize_cq() requests fewer entries than the queue has completions", resize_below_content},
    {"cq/resize/wrong", "IBV-242", "refuses to resize a completion queue to 0 or more than max_cqe entries", resize_wrong},
    {"cq/resize/fill", "IBV-238", "holds as many completions as ibv_resize_cq() requested", resize_then_fill},

    {"cq/destroy/of-sends", "IBV-236", "refuses to destroy the completion queue of a send queue", destroy_used<true>},
    {"cq/destroy/of-receives", "IBV-236", "refuses to destroy the completion queue of a receive queue", destroy_used<false>},
    {"cq/destroy/content", "IBV-236", "destroys a completion queue that has completions", destroy_with_content},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::queues_completions

iwarp::judge::Table iwarp::judge::queues_completions_cases() { return queues_completions::kCases; }
