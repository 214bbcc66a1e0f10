// SPDX-License-Identifier: Apache-2.0
// Cases about completion channels: arming queues, events, and acknowledging them.
#include <fcntl.h>

#include <atomic>

#include "judge/cases/cases.hpp"
#include "judge/tools/ends.hpp"

namespace iwarp::judge::queues_channels {
namespace {

constexpr EndOptions kWithChannel{.has_channel = true};

/// Reads an event of the channel within the limit, and acknowledges it. Returns its queue, or null
/// if there was none.
ibv_cq* take(End& end, std::chrono::milliseconds limit = kLimit) {
  if (!is_readable(end.channel->fd, limit)) return nullptr;
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(end.channel.get(), &cq, &context) != 0) return nullptr;
  ibv_ack_cq_events(cq, 1);
  return cq;
}

void expect_event(Judge& j, const std::string& step, End& end, const Cq& cq) {
  j.expect_true(step, take(end) == cq.get(), "an event of the queue");
}

/// Compares that there is no event, after a completion has been polled that would have caused it.
void expect_no_event(Judge& j, const std::string& step, End& end) {
  j.expect_true(step, take(end, {}) == nullptr, "no event");
}

/// Sends an empty message from `a` to `b`, and polls both completions.
void send(Judge& j, const std::string& step, Pair& pair, unsigned flags = 0) {
  j.require(step + ": ibv_post_recv", pair.b.post_recv(1));
  ibv_send_wr wr = pair.a.request(2, IBV_WR_SEND, pair.b);
  wr.send_flags |= flags;
  j.require(step + ": ibv_post_send", pair.a.post_send(wr));
  expect_completion(j, step + ": completion of the Send", pair.a.send_cq);
  expect_completion(j, step + ": completion of the receive", pair.b.recv_cq);
}

/// Arms the receive queue of `b`, and waits until the channel has an event.
void cause_event(Judge& j, Pair& pair) {
  ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
  send(j, "message", pair);
  j.require_true("poll(2)", is_readable(pair.b.channel->fd, kLimit), "readable");
}

/// Compares that two messages cause one event.
void expect_one_event(Judge& j, Pair& pair) {
  send(j, "first message", pair);
  send(j, "second message", pair);
  expect_event(j, "event", pair.b, pair.b.recv_cq);
  expect_no_event(j, "second event", pair.b);
}

void create(Judge& j) {
  Channel channel(ibv_create_comp_channel(j.context()));
  j.require("ibv_create_comp_channel", errno_of(channel.get()));
  j.expect_true("context", channel->context == j.context(), "that of the call");
  j.expect_true("fd", ::fcntl(channel->fd, F_GETFL) >= 0, "a descriptor that is open");
  j.expect_true("poll(2) of a new channel", !is_readable(channel->fd), "not readable");
  j.expect("ibv_destroy_comp_channel", channel.destroy());
}

void destroy_used(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  j.expect("ibv_destroy_comp_channel with a queue", pair.b.channel.destroy(), {EBUSY});
  j.require("ibv_req_notify_cq", errno_of(ibv_req_notify_cq(pair.b.recv_cq.get(), 0)));
  send(j, "message", pair);
  expect_event(j, "event after the failed call", pair.b, pair.b.recv_cq);
}

void destroy_after_queue(Judge& j) {
  Channel channel(ibv_create_comp_channel(j.context()));
  Cq cq(ibv_create_cq(j.context(), 1, nullptr, channel.get(), 0));
  j.require("ibv_create_cq", errno_of(cq.get()));
  j.expect("ibv_destroy_cq", cq.destroy());
  j.expect("ibv_destroy_comp_channel", channel.destroy());
}

void nonblocking(Judge& j) {
  Channel channel(ibv_create_comp_channel(j.context()));
  j.require("ibv_create_comp_channel", errno_of(channel.get()));
  ::fcntl(channel->fd, F_SETFL, ::fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  errno = 0;
  const int code = ibv_get_cq_event(channel.get(), &cq, &context);
  j.expect_true("ibv_get_cq_event without an event", code != 0, "an error");
  j.expect("errno", errno, {EAGAIN});
}

void two_channels(Judge& j) {
  Pair pair(j, kWithChannel, kWithChannel);
  ibv_req_notify_cq(pair.a.send_cq.get(), 0);
  ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
  send(j, "message", pair);
  expect_event(j, "channel of the sender", pair.a, pair.a.send_cq);
  expect_event(j, "channel of the receiver", pair.b, pair.b.recv_cq);
  expect_no_event(j, "channel of the sender, later", pair.a);
  expect_no_event(j, "channel of the receiver, later", pair.b);
}

void event_fields(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  cause_event(j, pair);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  j.require("ibv_get_cq_event", errno_of(ibv_get_cq_event(pair.b.channel.get(), &cq, &context)));
  j.expect_true("cq", cq == pair.b.recv_cq.get(), "the queue of the completion");
  j.expect_true("cq_context", context == &pair.b, "that of ibv_create_cq");
  ibv_ack_cq_events(cq, 1);
  j.expect_true("poll(2) after the event", !is_readable(pair.b.channel->fd), "not readable");
}

// The receiver waits in ibv_get_cq_event() before the message is sent.
void blocks(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
  ibv_cq* found = nullptr;
  Waiter waiter([&] {
    void* context = nullptr;
    if (ibv_get_cq_event(pair.b.channel.get(), &found, &context) == 0) {
      ibv_ack_cq_events(found, 1);
    }
  });
  j.expect_true("ibv_get_cq_event without an event", waiter.sleeps(), "blocks");
  send(j, "message", pair);
  waiter.join();
  j.expect_true("cq", found == pair.b.recv_cq.get(), "the queue of the completion");
}

// Follows the example of ibv_get_cq_event(3): an event without a completion is permitted.
void pingpong(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  constexpr int kRounds = 200;
  int readable = 0;
  int events = 0;
  int completions = 0;
  ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
  for (int i = 1; i <= kRounds; ++i) {
    pair.b.post_recv(1);
    pair.a.post_send(pair.a.request(2, IBV_WR_SEND, pair.b));
    while (completions < i && is_readable(pair.b.channel->fd, kLimit)) {
      ++readable;
      if (take(pair.b) == pair.b.recv_cq.get()) ++events;
      ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
      ibv_wc wc{};
      while (ibv_poll_cq(pair.b.recv_cq.get(), 1, &wc) == 1) ++completions;
    }
    if (completions < i || !next(pair.a.send_cq)) break;
  }
  j.expect_equal("messages that were received", static_cast<std::uint64_t>(completions), kRounds);
  j.expect_true("ibv_get_cq_event when the descriptor is readable", events == readable,
                "an event of the queue each time");
}

void polled_before(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
  send(j, "message", pair);
  expect_event(j, "event of a completion that was polled", pair.b, pair.b.recv_cq);
  expect_empty(j, "poll after the event", pair.b.recv_cq);
}

void two_threads(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  std::atomic<int> events = 0;
  const auto wait = [&] {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(pair.b.channel.get(), &cq, &context) != 0) return;
    ++events;
    ibv_ack_cq_events(cq, 1);
  };
  Waiter one(wait);
  Waiter other(wait);
  j.expect_true("two calls of ibv_get_cq_event", one.sleeps() && other.sleeps(), "both block");
  for (int i = 1; i <= 2; ++i) {
    const std::string step = "message " + std::to_string(i);
    ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
    send(j, step, pair);
    wait_for([&] { return events >= i; });
    j.expect_true(step + ": calls that returned", events == i, "one for each event");
  }
}

// Arming ----------------------------------------------------------------------------------------

void unarmed(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  send(j, "message", pair);
  expect_no_event(j, "event of a queue that was not armed", pair.b);
}

void once(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  j.expect("ibv_req_notify_cq", errno_of(ibv_req_notify_cq(pair.b.recv_cq.get(), 0)));
  expect_one_event(j, pair);
}

void armed_twice(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
  ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
  expect_one_event(j, pair);
}

// Another queue of the channel is armed later. Its event is the next one, because events of a
// channel are in order.
void queued_before(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  j.require("ibv_post_recv", pair.b.post_recv(1));
  j.require("ibv_post_recv of the sender", pair.a.post_recv(2));
  ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(3, IBV_WR_SEND, pair.b)));
  expect_event(j, "event of the message", pair.b, pair.b.recv_cq);
  ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
  ibv_req_notify_cq(pair.b.send_cq.get(), 0);
  j.require("ibv_post_send back", pair.b.post_send(pair.b.request(4, IBV_WR_SEND, pair.a)));
  expect_event(j, "next event", pair.b, pair.b.send_cq);
  expect_completion(j, "completion that was queued", pair.b.recv_cq);
}

void solicited(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  ibv_req_notify_cq(pair.b.recv_cq.get(), 1);
  send(j, "message without the flag", pair);
  expect_no_event(j, "event of a message without IBV_SEND_SOLICITED", pair.b);
  send(j, "message with the flag", pair, IBV_SEND_SOLICITED);
  expect_event(j, "event of a message with IBV_SEND_SOLICITED", pair.b, pair.b.recv_cq);
}

void solicited_send(Judge& j) {
  Pair pair(j, kWithChannel, {});
  ibv_req_notify_cq(pair.a.send_cq.get(), 1);
  send(j, "message", pair, IBV_SEND_SOLICITED);
  expect_no_event(j, "event of a successful Send", pair.a);
}

void solicited_error(Judge& j) {
  Pair pair(j, kWithChannel, {});
  ibv_req_notify_cq(pair.a.recv_cq.get(), 1);
  j.require("ibv_post_recv", pair.a.post_recv(1));
  j.require("ibv_modify_qp to ERR", pair.a.modify(IBV_QPS_ERR));
  expect_event(j, "event of a completion with an error", pair.a, pair.a.recv_cq);
  expect_completion(j, "completion of the receive", pair.a.recv_cq, {IBV_WC_WR_FLUSH_ERR});
}

// Arms the queue for solicited messages (1) and for all (0), in either order.
template <int first, int second>
void armed_for_all(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  ibv_req_notify_cq(pair.b.recv_cq.get(), first);
  ibv_req_notify_cq(pair.b.recv_cq.get(), second);
  send(j, "message without the flag", pair);
  expect_event(j, "event", pair.b, pair.b.recv_cq);
}

void without_channel(Judge& j) {
  Pair pair(j);
  j.expect("ibv_req_notify_cq of a queue without a channel",
           errno_of(ibv_req_notify_cq(pair.b.recv_cq.get(), 0)), {0, EINVAL});
  send(j, "message", pair);
}

// Acknowledging and destroying ------------------------------------------------------------------

void ack_several(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  constexpr unsigned kEvents = 3;
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  for (unsigned i = 0; i < kEvents; ++i) {
    ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
    send(j, "message " + std::to_string(i + 1), pair);
    j.require("ibv_get_cq_event " + std::to_string(i + 1),
              errno_of(ibv_get_cq_event(pair.b.channel.get(), &cq, &context)));
  }
  ibv_ack_cq_events(cq, kEvents);
  close(pair);
  j.expect("ibv_destroy_cq", pair.b.recv_cq.destroy());
}

void destroy_waits(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  ibv_req_notify_cq(pair.b.recv_cq.get(), 0);
  send(j, "message", pair);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  j.require("ibv_get_cq_event", errno_of(ibv_get_cq_event(pair.b.channel.get(), &cq, &context)));
  close(pair);
  expect_waits(j, "ibv_destroy_cq", pair.b.recv_cq, [&] { ibv_ack_cq_events(cq, 1); });
}

void unread_event(Judge& j) {
  Pair pair(j, {}, kWithChannel);
  cause_event(j, pair);
  close(pair);
  j.expect("ibv_destroy_cq with an event that was not read", pair.b.recv_cq.destroy());
  j.expect_true("poll(2) after it", !is_readable(pair.b.channel->fd), "not readable");
}

// clang-format off
constexpr Case kCases[] = {
    {"channel/create", "IBV-210", "creates a completion channel with an open descriptor", create},
    {"channel/destroy/used", "IBV-212", "refuses to destroy a completion channel that a completion queue uses", destroy_used},
    {"channel/destroy/after-queue", "IBV-212", "destroys a completion channel after its completion queue", destroy_after_queue},
    {"channel/event/nonblocking", "IBV-214", "returns EAGAIN from ibv_get_cq_event() with O_NONBLOCK if no event is queued", nonblocking},
    {"channel/event/blocks", "IBV-215", "blocks in ibv_get_cq_event() until an event arrives", blocks},
    {"channel/event/fields", "IBV-210 IBV-213", "returns the completion queue and its cq_context with an event", event_fields},
    {"channel/event/two-channels", "IBV-211 IBV-225", "reports an event only to the channel of its completion queue", two_channels},
    {"channel/event/pingpong", "IBV-210 IBV-219", "returns an event whenever the descriptor of the completion channel is readable", pingpong},
    {"channel/event/polled", "IBV-220", "reports an event even if its completion was polled before", polled_before},
    {"channel/event/two-threads", "IBV-221", "returns each event to only one of two threads in ibv_get_cq_event()", two_threads},
    {"channel/event/ack-several", "IBV-216", "acknowledges several events with one ibv_ack_cq_events()", ack_several},
    {"channel/event/destroy-waits", "IBV-217", "destroys a completion queue only after its events are acknowledged", destroy_waits},
    {"channel/event/unread", "IBV-218", "discards unread events of a completion queue that is destroyed", unread_event},
    {"channel/arm/not", "IBV-222", "reports no event of a completion queue that is not armed", unarmed},
    {"channel/arm/once", "IBV-222 IBV-223", "reports one event for two messages after one ibv_req_notify_cq()", once},
    {"channel/arm/twice", "IBV-223", "reports one event for two messages after two ibv_req_notify_cq()", armed_twice},
    {"channel/arm/queued", "IBV-224", "reports no event for a completion that was queued before ibv_req_notify_cq()", queued_before},
    {"channel/arm/solicited", "IBV-226 IBV-525", "reports only solicited messages if solicited_only is 1", solicited},
    {"channel/arm/solicited-send", "IBV-227", "reports no event of a successful Send if solicited_only is 1", solicited_send},
    {"channel/arm/solicited-error", "IBV-228", "reports a completion with an error if solicited_only is 1", solicited_error},
    {"channel/arm/widened", "IBV-229", "reports every completion if the queue is armed with solicited_only 1, then 0", armed_for_all<1, 0>},
    {"channel/arm/not-narrowed", "IBV-229", "reports every completion if the queue is armed with solicited_only 0, then 1", armed_for_all<0, 1>},
    {"channel/arm/without-channel", "IBV-230 IBV-234", "keeps working after ibv_req_notify_cq() of a completion queue without a channel", without_channel},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::queues_channels

iwarp::judge::Table iwarp::judge::queues_channels_cases() { return queues_channels::kCases; }
