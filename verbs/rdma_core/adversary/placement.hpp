// SPDX-License-Identifier: Apache-2.0
// Lander: makes the Latitude of each connection: when the payload of Writes becomes visible, in
// which order a Read accesses memory, and what happens between the two halves of an atomic.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "adversary/dice.hpp"
#include "iwarp/verbs/latitude.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::adversary {

class Landing;

/// Has a thread that places payload when its time has come. Never destroyed, because the thread
/// never ends. Thread-safe.
class Lander {
 public:
  /// With the persona of a RoCE adapter, Writes of one connection become visible in the order of
  /// the stream.
  Lander(const options::Adversary& choice, Persona persona);
  ~Lander() = delete;

  std::unique_ptr<verbs::Latitude> make_latitude();
  /// Call when the program polls a queue. Sometimes places payload at once, because a program often
  /// looks at its memory before and after a poll.
  void polled();

 private:
  friend class Landing;
  void run();
  /// Returns the time of a clock that stops while the thread is late, so that the time between two
  /// pieces does not shrink on a busy machine.
  std::chrono::steady_clock::time_point now() const {
    return std::chrono::steady_clock::now() - lag_.load();
  }
  /// Makes the thread call landing.place_due() at the time `due`.
  void wake(Landing& landing, std::chrono::steady_clock::time_point due);
  void remove(Landing& landing);

  const options::Adversary choice_;
  const Persona persona_;
  std::mutex mutex_;  ///< locked before the mutex of a Landing
  Dice dice_;
  std::condition_variable changed_;
  bool is_due_ = false;
  std::atomic<std::chrono::steady_clock::duration> lag_{};  ///< how long the clock has stopped
  std::map<Landing*, std::chrono::steady_clock::time_point> due_;  ///< when each is due next
};

}  // namespace iwarp::rdma_core::adversary
