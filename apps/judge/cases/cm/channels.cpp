// SPDX-License-Identifier: Apache-2.0
// Cases about event channels, events, their acknowledgement, and the list of devices of rdma_cm.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "judge/cases/cases.hpp"
#include "judge/tools/ids.hpp"

namespace iwarp::judge::cm_channels {
namespace {

void new_descriptor(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  j.expect_true("the descriptor is open", ::fcntl(channel->fd, F_GETFD) >= 0, "open");
  j.expect_true("the descriptor is readable", !is_readable(channel->fd),
                "no event, so not readable");
}

void destroyed(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  const int fd = channel->fd;
  rdma_destroy_event_channel(channel);
  j.expect("fcntl of the old descriptor", ::fcntl(fd, F_GETFD) < 0 ? errno : 0, {EBADF});
}

void no_descriptors(Judge& j) {
  new_channel(j);
  const rlimit none{.rlim_cur = 3, .rlim_max = 1024};
  must(j, "setrlimit", errno_of(::setrlimit(RLIMIT_NOFILE, &none)));
  const int code = errno_of(rdma_create_event_channel());
  j.expect("rdma_create_event_channel without a free descriptor", code, {EMFILE});
}

void own_events(Judge& j) {
  rdma_event_channel* const first = new_channel(j);
  rdma_event_channel* const second = new_channel(j);
  rdma_cm_id* const a = new_resolving(j, first);
  rdma_cm_id* const b = new_resolving(j, second);
  const CmEvent of_a = await(j, first, RDMA_CM_EVENT_ADDR_RESOLVED);
  const CmEvent of_b = await(j, second, RDMA_CM_EVENT_ADDR_RESOLVED);
  j.expect_true("the first channel has the event of its id", of_a.id == a, "event->id is its id");
  j.expect_true("the second channel has the event of its id", of_b.id == b, "event->id is its id");
  j.expect_true("a channel is readable", !is_readable(first->fd) && !is_readable(second->fd),
                "no other event");
}

void in_order(Judge& j) {
  Ids ids(j);
  ids.request();
  create_qp(j, ids.server);
  must(j, "rdma_accept", errno_of(rdma_accept(ids.server, nullptr)));
  await(j, ids.at_client, RDMA_CM_EVENT_ESTABLISHED);
  must(j, "rdma_disconnect", errno_of(rdma_disconnect(ids.client)));
  expect_event(j, "first event at the server", ids.at_server, {RDMA_CM_EVENT_ESTABLISHED});
  expect_event(j, "second event at the server", ids.at_server, {RDMA_CM_EVENT_DISCONNECTED});
}

void blocks(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_event* event = nullptr;
  int code = -1;
  std::thread reader = asleep_in([&] { code = errno_of(rdma_get_cm_event(channel, &event)); });
  new_resolving(j, channel);
  reader.join();
  j.expect("rdma_get_cm_event", code);
  j.expect_true("the event", event != nullptr && event->event == RDMA_CM_EVENT_ADDR_RESOLVED,
                "ADDR_RESOLVED");
}

void interrupted(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  struct sigaction action{};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, nullptr);
  int code = -1;
  std::thread reader = asleep_in([&] {
    rdma_cm_event* event = nullptr;
    code = errno_of(rdma_get_cm_event(channel, &event));
  });
  ::pthread_kill(reader.native_handle(), SIGUSR1);
  reader.join();
  j.expect("rdma_get_cm_event", code, {EINTR});
}

void non_blocking(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  ::fcntl(channel->fd, F_SETFL, O_NONBLOCK);
  rdma_cm_event* event = nullptr;
  j.expect("rdma_get_cm_event, no event", errno_of(rdma_get_cm_event(channel, &event)), {EAGAIN});
  new_resolving(j, channel);
  is_readable(channel->fd, kLimit);
  j.expect("rdma_get_cm_event, an event", errno_of(rdma_get_cm_event(channel, &event)));
}

void without_place(Judge& j) {
  const int code = errno_of(rdma_get_cm_event(new_channel(j), nullptr));
  j.expect("rdma_get_cm_event(channel, NULL)", code, {EINVAL});
}

// The thread stays asleep or returns with an error. A crash ends the case, which then fails.
void destroyed_below_reader(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  asleep_in([channel] {
    rdma_cm_event* event = nullptr;
    rdma_get_cm_event(channel, &event);
  }).detach();
  rdma_destroy_event_channel(channel);
  rdma_event_channel* const other = new_channel(j);
  new_resolving(j, other);
  expect_event(j, "event of another channel", other, {RDMA_CM_EVENT_ADDR_RESOLVED});
}

void acknowledged_in_any_order(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  std::array<rdma_cm_id*, 3> ids{};
  std::array<rdma_cm_event*, 3> events{};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = new_resolving(j, channel);
    events[i] = wait_event(channel);
  }
  int code = 0;
  std::thread([&] {
    for (std::size_t i = events.size(); i > 0; --i) code |= rdma_ack_cm_event(events[i - 1]);
  }).join();
  j.expect("rdma_ack_cm_event, in reverse order in another thread", errno_of(code));
  for (rdma_cm_id* const id : ids) code |= rdma_destroy_id(id);
  j.expect("rdma_destroy_id", errno_of(code));
}

void acknowledged_null(Judge& j) {
  j.expect("rdma_ack_cm_event(NULL)", errno_of(rdma_ack_cm_event(nullptr)), {EINVAL});
}

void destroy_waits_for_ack(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const id = new_resolving(j, channel);
  rdma_cm_event* const event = wait_event(channel);
  std::atomic<bool> is_destroyed = false;
  std::thread destroyer = asleep_in([&] {
    rdma_destroy_id(id);
    is_destroyed = true;
  });
  j.expect_true("rdma_destroy_id has returned", !is_destroyed, "not before the acknowledgement");
  rdma_ack_cm_event(event);
  destroyer.join();
}

void event_texts(Judge& j) {
  bool has_all = true;
  for (int i = RDMA_CM_EVENT_ADDR_RESOLVED; i <= RDMA_CM_EVENT_TIMEWAIT_EXIT; ++i) {
    const char* const text = rdma_event_str(static_cast<rdma_cm_event_type>(i));
    has_all &= text != nullptr && std::string_view(text).starts_with("RDMA_CM_EVENT_");
  }
  j.expect_true("each event has its name", has_all, "RDMA_CM_EVENT_...");
  int unknown = 99;
  j.expect_text("rdma_event_str(99)", rdma_event_str(static_cast<rdma_cm_event_type>(unknown)),
                {"UNKNOWN EVENT"});
}

void list_of_devices(Judge& j) {
  int count = 0;
  ibv_context** const list = rdma_get_devices(&count);
  j.require("rdma_get_devices", errno_of(list));
  int walked = 0;
  while (list[walked] != nullptr) ++walked;
  j.expect_equal("entries before NULL", static_cast<std::uint64_t>(walked),
                 static_cast<std::uint64_t>(count));
  ibv_context* const first = list[0];
  rdma_free_devices(list);
  ibv_device_attr attr{};
  j.expect("ibv_query_device after rdma_free_devices", errno_of(ibv_query_device(first, &attr)));
  j.expect("rdma_get_devices(NULL)", errno_of(rdma_get_devices(nullptr)));
}

void device_of_ids(Judge& j) {
  rdma_cm_id* const id = new_client(j, new_channel(j), Address(j.address(), htons(kFreePort)));
  int count = 0;
  ibv_context** const list = rdma_get_devices(&count);
  ibv_context** const found = std::find(list, list + count, id->verbs);
  j.require_true("id->verbs is in the list", found != list + count, "in the list");
  ibv_pd* const pd = ibv_alloc_pd(*found);
  must(j, "ibv_alloc_pd", errno_of(pd));
  ibv_qp_init_attr init = qp_init(id);
  j.expect("rdma_create_qp with a domain of that context", errno_of(rdma_create_qp(id, pd, &init)));
}

// clang-format off
constexpr Case kCases[] = {
    {"cm/channel/new", "RCM-7", "creates an event channel whose descriptor is not readable", new_descriptor, kCm},
    {"cm/channel/destroy", "RCM-17", "closes the descriptor of a destroyed event channel", destroyed, kCm},
    {"cm/channel/no-descriptors", "RCM-8", "fails rdma_create_event_channel() with EMFILE if no descriptor is free", no_descriptors, kCm},
    {"cm/channel/own-events", "RCM-9", "reports an event only on the channel of its rdma_cm_id", own_events, kCm},
    {"cm/channel/order", "RCM-16", "reports ESTABLISHED before DISCONNECTED", in_order, kCm},
    {"cm/channel/block", "RCM-12", "blocks in rdma_get_cm_event() until an event is queued", blocks, kCm},
    {"cm/channel/interrupt", "RCM-15", "returns EINTR from rdma_get_cm_event() after a signal", interrupted, kCm},
    {"cm/channel/non-blocking", "RCM-13 RCM-10", "returns EAGAIN from rdma_get_cm_event() with O_NONBLOCK if no event is queued", non_blocking, kCm},
    {"cm/channel/null-event", "RCM-14", "refuses rdma_get_cm_event() with a null pointer for the event", without_place, kCm},
    {"cm/channel/destroy-below-reader", "RCM-18", "survives rdma_destroy_event_channel() while a thread waits in rdma_get_cm_event()", destroyed_below_reader, kCm},
    {"cm/event/any-order", "RCM-42 RCM-44", "accepts rdma_ack_cm_event() in any order and from any thread", acknowledged_in_any_order, kCm},
    {"cm/event/null", "RCM-43", "refuses rdma_ack_cm_event() of a null pointer", acknowledged_null, kCm},
    {"cm/event/destroy-waits", "RCM-34", "destroys an rdma_cm_id only after its events are acknowledged", destroy_waits_for_ack, kCm},
    {"cm/event/text", "RCM-23 RCM-24", "has a name for each rdma_cm event", event_texts, kCm},
    {"cm/devices/list", "RCM-19 RCM-20 RCM-22", "returns open contexts from rdma_get_devices()", list_of_devices, kCm},
    {"cm/devices/of-ids", "RCM-21", "includes the context of an rdma_cm_id in rdma_get_devices()", device_of_ids, kCm},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::cm_channels

iwarp::judge::Table iwarp::judge::cm_channels_cases() { return cm_channels::kCases; }
