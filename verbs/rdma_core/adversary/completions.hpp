// SPDX-License-Identifier: Apache-2.0
// Completions: which completions of a queue the program sees, and when an armed queue causes an
// event. A completion that the program does not see yet counts as one that has not been added to
// the queue. So after the program has armed the queue, the next polls return everything that had
// arrived before, because it causes no event. After an event, they return the completion that
// caused it.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "adversary/dice.hpp"
#include "objects/objects.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::adversary {

/// Never destroyed, because its thread never ends. Thread-safe.
class Completions {
 public:
  explicit Completions(const options::Adversary& choice);
  ~Completions() = delete;

  // Each of the next functions implements the call of the program; `behind` is the next object in
  // the chain of Hooks.
  int poll(Hooks& behind, ibv_cq* cq, int count, ibv_wc* wc);
  int start_poll(Hooks& behind, ibv_cq_ex* cq, ibv_poll_cq_attr* attr);
  int next_poll(Hooks& behind, ibv_cq_ex* cq);
  int arm(Hooks& behind, ibv_cq* cq, int solicited_only);

  /// Polls of the queue use ibv_start_poll(), and do not see completions that were fetched ahead.
  void made_extended(Cq& cq);
  void destroying(Cq& cq);
  /// Ends all delays of events. Call before the library discards completions, because an event
  /// that is late compares how many there were.
  void hurry();
  /// Discards the failed completions of the queue pair, as the library does when a queue pair is
  /// destroyed or reset.
  void drop_failed(Qp& qp);

 private:
  using Clock = std::chrono::steady_clock;
  struct Queue {
    Queue(std::uint64_t seed, Cq& of) : cq(of), dice(seed, Dice::Kind::kQueue) {}
    Cq& cq;
    std::mutex mutex;  ///< guards the other members; locked after Completions::mutex_
    Dice dice;
    std::vector<ibv_wc> arrived;  ///< completions that the program has not seen
    bool is_extended = false;
    std::size_t seen = 0;     ///< number of completions that polls have returned
    std::size_t visible = 0;  ///< polls hide nothing until this number is reached
    /// While the queue is armed: number of completions that had arrived before. The next one causes
    /// the event, or any later one if the program waits for solicited ones.
    std::size_t before_arming = 0;
    bool is_armed = false;
    bool awaits_solicited = false;
    Clock::time_point fires_at = Clock::time_point::max();  ///< when to arm the library's queue
    std::uint64_t hidden_polls = 0;  ///< number of polls that still find nothing
  };

  Queue* find(const Cq* cq);
  Queue& of(Cq& cq);
  static std::size_t count_arrived(const Queue& queue);
  static void look_for_event(Queue& queue);
  bool hides(Queue& queue, std::unique_lock<std::mutex>& lock) const;
  void fetch(Queue& queue, Hooks& behind, int count) const;
  ibv_wc take_one(Queue& queue) const;
  static void count_one(Queue& queue, int code);
  static void fire(Queue& queue, bool has_cause);
  void run();

  const options::Adversary choice_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<const Cq*, std::unique_ptr<Queue>> queues_;
  bool is_due_ = false;
};

}  // namespace iwarp::rdma_core::adversary
