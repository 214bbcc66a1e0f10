// SPDX-License-Identifier: Apache-2.0
// DriveTurn: the part of Driven that a connection and a datagram queue pair share. A thread calls
// DriveTurn when it posts or polls, or when the socket has woken it. It passes its work as a bit
// set. If the lock is free, the thread takes a turn: it locks, receives and sends as the work
// requires, and unlocks. If another thread holds the lock, that thread does the work. The table in
// states.hpp says which thread reads the socket.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "driver/drive_lock.hpp"
#include "driver/driven.hpp"
#include "driver/states.hpp"
#include "driver/worker.hpp"

namespace iwarp::net {

/// `Self` derives from this class and from std::enable_shared_from_this, and has
///   void run(std::uint32_t work, bool by_worker)
/// which calls take_turns().
template <typename Self>
class DriveTurn : public Driven {
 public:
  bool polled(bool readable, bool room) final { return serve(readable, room, 0); }
  bool ready(bool readable, bool room) final { return serve(readable, room, kSlept); }
  void sleep_on() final { kick(kSleptOn); }
  void let_go() final { kick(kLetGo | kPoll); }
  void sync() final {
    locked([] {});
  }
  bool is_plain() const final {
    return input_.load(std::memory_order_acquire) == InputState::kReads &&
           !unwatched_.load(std::memory_order_relaxed);
  }

 protected:
  enum Work : std::uint32_t {
    kTransmit = 1 << 0,
    kReceive = 1 << 1,
    kPoll = 1 << 2,   ///< receive, and retry sending
    kRoom = 1 << 3,   ///< whether the socket has room to send
    kSlept = 1 << 4,  ///< whether the socket has woken the calling thread
    /// whether a receive may have been posted, or a thread has requested the end of the stream
    kResume = 1 << 5,
    /// DriveCause::kPolled; if several of the three causes are set, the highest bit wins
    kPolled = 1 << 6,
    kSleptOn = 1 << 7,
    kLetGo = 1 << 8,
    kFirstOwn = 1 << 9,  ///< the first bit that `Self` defines
  };

  /// Takes a turn with `work`, or adds it to the work of the thread that holds the lock. Never
  /// waits. `by_worker` is true if the caller is the worker thread, which continues unfinished work
  /// in a later turn.
  void kick(std::uint32_t work, bool by_worker = false) {
    if (const auto all = lock_.enter(work)) self().run(*all, by_worker);
  }
  /// Waits for the lock and calls `function`. Then takes a turn with `then` and the work that other
  /// threads have added. Returns the result of `function`, which must not throw.
  template <typename Function>
  auto locked(Function function, std::uint32_t then = kTransmit) {
    lock_.lock();
    const auto take_turn = [&] { self().run(lock_.take() | then, false); };
    if constexpr (std::is_void_v<decltype(function())>) {
      function();
      take_turn();
    } else {
      auto out = function();
      take_turn();
      return out;
    }
  }
  /// Calls `turn(work)`, which does the work, returns the work that it did not finish, and must not
  /// throw. `work` contains all pending work, including that of other threads. Call with the lock
  /// held; the lock is free on return.
  template <typename Turn>
  void take_turns(std::uint32_t work, bool by_worker, Turn turn) {
    const auto next = [&](std::uint32_t now) -> DriveLock::Rest {
      const std::uint32_t left = turn(now);
      return {.work = left, .is_followed = !by_worker && is_followed(mode())};
    };
    // If work is left after kTurns turns, the worker does it later. Before that, a worker that was
    // driving serves its other sockets, and an application thread that was driving returns from its
    // call.
    lock_.drive(work, kTurns, next, [this] {
      worker_.post([kept = self().shared_from_this(), this] {
        if (const auto all = lock_.succeed()) self().run(*all, true);
      });
    });
  }

  DriveMode mode() const { return mode_.load(std::memory_order_relaxed); }
  /// Changes the mode by the causes in `work`. Returns whether the mode has changed.
  bool change_mode(std::uint32_t work) {
    if ((work & kLetGo) != 0) return change_mode(DriveCause::kLetGo);
    if ((work & kSleptOn) != 0) return change_mode(DriveCause::kSleptOn);
    return (work & kPolled) != 0 && self().follows_polls() && change_mode(DriveCause::kPolled);
  }
  bool change_mode(DriveCause cause) {
    const DriveMode before = bytes::advance(kDriveEdges, mode_, cause);
    return mode() != before;
  }
  [[gnu::cold]] void step(InputEvent event) { bytes::advance(kInputEdges, input_, event); }
  InputState input() const { return input_.load(std::memory_order_relaxed); }
  void note_arrival() {
    arrivals_.store(arrivals_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    note_input();
  }

  Worker& worker_;
  DriveLock lock_;
  // Only the holder of lock_ writes input_, arrivals_ and unwatched_.
  std::atomic<InputState> input_{InputState::kReads};
  /// Number of receive calls that found input, the end of the stream or an error.
  std::atomic<std::uint32_t> arrivals_{0};
  std::atomic<bool> unwatched_{false};  ///< whether the kernel has refused to add a socket to a set

 private:
  friend Self;  // only `Self` derives from DriveTurn<Self>
  explicit DriveTurn(Worker& worker) : worker_(worker) {}
  ~DriveTurn() = default;

  /// After this number of turns, a thread hands the remaining work to the worker.
  static constexpr int kTurns = 9;

  Self& self() { return static_cast<Self&>(*this); }

  bool serve(bool readable, bool room, std::uint32_t slept) {
    const auto before = arrivals_.load(std::memory_order_relaxed);
    // The mode is kWorker although this thread sleeps on the socket: the feed of another queue has
    // called let_go(), or an earlier let_go() has taken effect late. Request kSleeper again.
    if (slept != 0 && mode() == DriveMode::kWorker) slept |= kSleptOn;
    const auto all = lock_.enter((readable ? kReceive : 0U) | (room ? kRoom : 0U) | slept);
    if (!all) return true;
    self().run(*all, false);
    return arrivals_.load(std::memory_order_relaxed) != before;
  }

  std::atomic<DriveMode> mode_{DriveMode::kWorker};
};

}  // namespace iwarp::net
