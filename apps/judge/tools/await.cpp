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

/// Returns the state of a thread of this process as in proc(5): 'S' if it sleeps.
char state_of(int tid) {
  std::ifstream file(fmt::format("/proc/self/task/{}/stat", tid));
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');  // The name of the thread is in parentheses.
  return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2] : '?';
}

}  // namespace

bool wait_for(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

Waiter::Waiter(std::function<void()> call)
    : thread_([this, call = std::move(call)] {
        tid_ = ::gettid();
        call();
        has_returned_ = true;
      }) {}

bool Waiter::sleeps() const {
  wait_for([this] { return has_returned_ || (tid_ != 0 && state_of(tid_) == 'S'); });
  return !has_returned_;
}

void Waiter::join() {
  if (thread_.joinable()) thread_.join();
}

void close(Pair& pair) {
  for (End* const end : {&pair.a, &pair.b}) {
    if (end->id != nullptr) rdma_disconnect(end->id);
  }
  for (End* const end : {&pair.a, &pair.b}) {
    if (end->id != nullptr) {
      rdma_destroy_qp(end->id);
      end->qp.release();
    } else {
      end->judge.require("ibv_destroy_qp", end->qp.destroy());
    }
  }
}

ibv_async_event require_async(Judge& j, const std::string& step, ibv_event_type type) {
  pollfd wait{.fd = j.context()->async_fd, .events = POLLIN, .revents = 0};
  const int limit = static_cast<int>(std::chrono::milliseconds(kLimit).count());
  while (::poll(&wait, 1, limit) == 1) {
    ibv_async_event event{};
    if (ibv_get_async_event(j.context(), &event) != 0) break;
    if (is_of_port(event.event_type)) {
      ibv_ack_async_event(&event);
      continue;
    }
    const bool is_right = event.event_type == type;
    j.expect_text(step, ibv_event_type_str(event.event_type), {ibv_event_type_str(type)});
    if (is_right) return event;
    ibv_ack_async_event(&event);
    throw Ended{};
  }
  j.expect_text(step, "no event", {ibv_event_type_str(type)});
  throw Ended{};
}

bool has_async(Judge& j) {
  pollfd wait{.fd = j.context()->async_fd, .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, 0) == 1;
}

}  // namespace iwarp::judge
