// SPDX-License-Identifier: Apache-2.0
// Waits that end when a condition holds or a time limit has passed. A thread counts as asleep if
// the kernel says so in /proc.
#include "judge/tools/await.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <fstream>

namespace iwarp::judge {
namespace {

bool is_of_port(ibv_event_type type) {
  return type == IBV_EVENT_GID_CHANGE || type == IBV_EVENT_PORT_ACTIVE ||
         type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_LID_CHANGE ||
         type == IBV_EVENT_PKEY_CHANGE || type == IBV_EVENT_SM_CHANGE ||
         type == IBV_EVENT_CLIENT_REREGISTER;
}

constexpr char kNoThread = '?';

/// Returns the state of a thread of this process as in proc(5): 'S' if it sleeps.
char state_of(int tid) {
  std::ifstream file(fmt::format("/proc/self/task/{}/stat", tid));
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');  // The name of the thread is in parentheses.
  return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2]
                                                                     : kNoThread;
}

/// Waits for an event, which the caller acknowledges.
std::optional<ibv_async_event> read_event(ibv_context* context, std::chrono::milliseconds limit) {
  ibv_async_event event{};
  while (is_readable(context->async_fd, limit) && ibv_get_async_event(context, &event) == 0) {
    if (!is_of_port(event.event_type)) return event;
    ibv_ack_async_event(&event);
  }
  return std::nullopt;
}

}  // namespace

bool is_readable(int fd, std::chrono::milliseconds limit) {
  pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, static_cast<int>(limit.count())) == 1;
}

std::thread asleep_in(std::function<void()> call) {
  std::atomic<int> id = 0;
  std::thread out([&id, call = std::move(call)] {
    id.exchange(::gettid());
    id.notify_one();
    call();
  });
  id.wait(0);
  wait_for([tid = id.load()] {
    const char state = state_of(tid);
    return state == 'S' || state == kNoThread;
  });
  return out;
}

void take_cq_event(Judge& j, const Channel& channel) {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  j.require("ibv_get_cq_event", errno_of(ibv_get_cq_event(channel.get(), &cq, &context)));
  ibv_ack_cq_events(cq, 1);
}

std::optional<ibv_async_event> next_event(ibv_context* context, std::chrono::milliseconds limit) {
  auto event = read_event(context, limit);
  if (event) ibv_ack_async_event(&*event);
  return event;
}

ibv_async_event require_async(Judge& j, const std::string& step, ibv_event_type type) {
  auto event = read_event(j.context(), kLimit);
  const char* const name = event ? ibv_event_type_str(event->event_type) : "no event";
  if (j.expect_text(step, name, {ibv_event_type_str(type)})) return *event;
  if (event) ibv_ack_async_event(&*event);
  throw Ended{};
}

bool has_async(Judge& j) { return is_readable(j.context()->async_fd); }

}  // namespace iwarp::judge
