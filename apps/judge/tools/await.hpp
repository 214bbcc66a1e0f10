// SPDX-License-Identifier: Apache-2.0
// Waits for a condition, a descriptor, an event, or a thread that is to fall asleep.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "judge/tools/objects.hpp"

namespace iwarp::judge {

/// How long a case waits for what must come.
inline constexpr std::chrono::seconds kLimit{5};

/// Calls `holds` until it returns true or the limit has passed. Returns its last result.
template <typename Holds>
bool wait_for(Holds holds, std::chrono::milliseconds limit = kLimit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Returns whether poll(2) says within the limit that the descriptor is readable.
bool is_readable(int fd, std::chrono::milliseconds limit = {});

/// Calls `call` in a new thread. Returns when that thread sleeps in the kernel or has ended.
std::thread asleep_in(std::function<void()> call);

/// A thread that makes one call, which is expected to block.
class Waiter {
 public:
  explicit Waiter(const std::function<void()>& call)
      : thread_(asleep_in([this, call] {
          call();
          has_returned_ = true;
        })) {}
  ~Waiter() { join(); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Returns false if the call has returned.
  bool sleeps() const { return !has_returned_; }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> has_returned_ = false;
  std::thread thread_;
};

/// Compares that destroying `object` blocks until `acknowledge` has been called, and then works.
template <typename T>
void expect_waits(Judge& j, const std::string& step, T& object,
                  const std::function<void()>& acknowledge) {
  int code = 0;
  std::atomic<bool> is_acknowledged = false;
  bool is_early = false;
  Waiter waiter([&] {
    code = object.destroy();
    is_early = !is_acknowledged;
  });
  is_acknowledged = true;
  acknowledge();
  waiter.join();
  j.expect_true(step + " with an event that is not acknowledged", !is_early,
                "returns after the acknowledgement");
  j.expect(step, code);
}

/// Takes an event from a completion channel, and acknowledges it. Ends the case if this fails.
void take_cq_event(Judge& j, const Channel& channel);

// Asynchronous events. Those of a port are skipped.

/// Waits for an event of `context` and acknowledges it. nullopt if none comes.
std::optional<ibv_async_event> next_event(ibv_context* context,
                                          std::chrono::milliseconds limit = kLimit);
/// Waits for an event of the given type. The caller acknowledges it. Ends the case if another event
/// comes, or none.
ibv_async_event require_async(Judge& j, const std::string& step, ibv_event_type type);
/// Returns whether an event can be read now.
bool has_async(Judge& j);

}  // namespace iwarp::judge
