// SPDX-License-Identifier: Apache-2.0
// Waiting for what other threads do, for asynchronous events, and for the end of a queue pair.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "judge/tools/ends.hpp"

namespace iwarp::judge {

/// Waits up to kLimit until `holds` returns true. Returns its last result.
bool wait_for(const std::function<bool()>& holds);

/// A thread that makes one call, which is expected to block.
class Waiter {
 public:
  explicit Waiter(std::function<void()> call);
  ~Waiter() { join(); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Waits until the thread sleeps in the call. Returns false if the call returned instead.
  bool sleeps() const;
  bool has_returned() const { return has_returned_; }
  void join();

 private:
  std::atomic<int> tid_ = 0;
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
  waiter.sleeps();
  is_acknowledged = true;
  acknowledge();
  waiter.join();
  j.expect_true(step + " with an event that is not acknowledged", !is_early,
                "returns after the acknowledgement");
  j.expect(step, code);
}

/// Destroys the queue pairs of a pair, so that a case can destroy their queues.
void close(Pair& pair);

/// Waits for an asynchronous event of the given type, and skips events of the port. The caller
/// acknowledges it. Ends the case if another event comes, or none.
ibv_async_event require_async(Judge& j, const std::string& step, ibv_event_type type);
/// Returns whether an event can be read now.
bool has_async(Judge& j);

}  // namespace iwarp::judge
