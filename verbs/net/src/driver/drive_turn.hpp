// SPDX-License-Identifier: Apache-2.0
// DriveTurn: what a connection and a queue pair of datagrams have in common as Driven. A thread
// that posts, polls or was woken enters with work; it has its turn under the lock, or leaves the
// work to the thread that has. The table in drive_mode.hpp says who comes unasked.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>

#include "driver/drive_lock.hpp"
#include "driver/drive_mode.hpp"
#include "driver/driven.hpp"
#include "driver/worker.hpp"

namespace iwarp::net {

/// `Self` derives from it and from std::enable_shared_from_this, and has
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

 protected:
  enum Work : std::uint32_t {
    kTransmit = 1 << 0,
    kReceive = 1 << 1,
    kPoll = 1 << 2,    ///< receive, and try to send again
    kRoom = 1 << 3,    ///< the socket takes more
    kSlept = 1 << 4,   ///< the thread that comes was woken by the socket
    kResume = 1 << 5,  ///< there may be a receive again
    kPolled = 1 << 6,  ///< these three as DriveCause has them; the last of them is obeyed
    kSleptOn = 1 << 7,
    kLetGo = 1 << 8,
    kFirstOwn = 1 << 9,  ///< from here on, what only `Self` knows
  };

  explicit DriveTurn(Worker& worker) : worker_(worker) {}
  ~DriveTurn() = default;

  /// Never waits. `by_worker`: the caller is the worker, which may leave work for another turn.
  void kick(std::uint32_t work, bool by_worker = false) {
    if (const auto all = lock_.enter(work)) self().run(*all, by_worker);
  }
  /// Waits for the lock, calls `function`, and drives: `then`, and what other threads left.
  /// `function` throws nothing.
  template <typename Function>
  void locked(Function function, std::uint32_t then = kTransmit) {
    lock_.lock();
    function();
    self().run(lock_.take() | then, false);
  }
  /// Holds the lock on entry, not on return. `work`: all that is to be done so far. `turn(work)`
  /// does it, throws nothing, and returns what it had no time for.
  template <typename Turn>
  void take_turns(std::uint32_t work, bool by_worker, Turn turn) {
    const auto next = [&](std::uint32_t now) -> DriveLock::Rest {
      const std::uint32_t left = turn(now);
      return {.work = left, .is_followed = !by_worker && is_followed(mode())};
    };
    // The worker goes on then: it lets its other sockets have their turn, and a thread of the
    // application is not kept.
    lock_.drive(work, kTurns, next, [this] {
      worker_.post([kept = self().shared_from_this(), this] {
        if (const auto all = lock_.succeed()) self().run(*all, true);
      });
    });
  }

  DriveMode mode() const { return mode_.load(std::memory_order_relaxed); }
  /// Returns true if another mode follows from the causes in `work`.
  bool change_mode(std::uint32_t work) {
    if ((work & kLetGo) != 0) return change_mode(DriveCause::kLetGo);
    if ((work & kSleptOn) != 0) return change_mode(DriveCause::kSleptOn);
    return (work & kPolled) != 0 && change_mode(DriveCause::kPolled);
  }
  bool change_mode(DriveCause cause) {
    const auto next = bytes::step(kDriveEdges, mode(), cause);
    assert(next && "not in the table of who drives");
    if (!next || *next == mode()) return false;
    mode_.store(*next, std::memory_order_relaxed);
    return true;
  }
  void note_arrival() {
    arrivals_.store(arrivals_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    octets_came();
  }

  Worker& worker_;
  DriveLock lock_;
  // Written by the holder of lock_ alone.
  std::atomic<bool> held_{false};           ///< nothing is read until a receive is posted
  std::atomic<std::uint32_t> arrivals_{0};  ///< calls that found the socket ready
  std::atomic<bool> unwatched_{false};      ///< a set could not take a socket

 private:
  static constexpr int kTurns = 9;  ///< no thread drives for others longer than this

  Self& self() { return static_cast<Self&>(*this); }

  bool serve(bool readable, bool room, std::uint32_t slept) {
    const auto before = arrivals_.load(std::memory_order_relaxed);
    // A let_go() of another queue, or one that was overtaken, leaves the worker in charge.
    if (slept != 0 && mode() == DriveMode::kWorker) slept |= kSleptOn;
    const auto all = lock_.enter((readable ? kReceive : 0U) | (room ? kRoom : 0U) | slept);
    if (!all) return true;
    self().run(*all, false);
    return arrivals_.load(std::memory_order_relaxed) != before;
  }

  std::atomic<DriveMode> mode_{DriveMode::kWorker};
};

}  // namespace iwarp::net
