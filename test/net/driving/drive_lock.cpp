// SPDX-License-Identifier: Apache-2.0
// Tests how threads hand over a connection that they drive. Runs every interleaving of the real
// DriveLock with a small model of its users. The model has a program that polls and then stops, a
// thread that posts, a peer, and the worker. The table in states.hpp determines which thread
// drives.
#include "driver/drive_lock.hpp"

#include <doctest/doctest.h>

#include <ostream>

#include "driver/states.hpp"
#include "interleavings.hpp"

using namespace iwarp;
using namespace iwarp::net;
using test::Explored;
using test::Guarded;
using test::Interleavings;

namespace {

using Lock = BasicDriveLock<Explored>;

/// An earlier version of the lock with a bug that the model must find. If the holder had work left
/// after its turn, drive() ignored the work that other threads had added to `word_` during that
/// turn.
class BlindLock {
 public:
  using Rest = Lock::Rest;

  std::optional<std::uint32_t> enter(std::uint32_t work) {
    if ((word_.fetch_or(work | kHeld) & kHeld) != 0) return std::nullopt;
    return take();
  }
  std::optional<std::uint32_t> succeed() {
    is_sent_.store(false);
    return enter(0);
  }
  void lock() {
    while ((word_.fetch_or(kHeld) & kHeld) != 0) word_.wait(kHeld);
  }
  std::uint32_t take() { return word_.exchange(kHeld) & ~kHeld; }
  bool leave() {
    auto expected = kHeld;
    return word_.compare_exchange_strong(expected, 0);
  }
  template <typename Turn, typename Send>
  void drive(std::uint32_t work, int turns, Turn turn, Send send) {
    for (int done = 1;; ++done, work = take()) {
      const Rest rest = turn(work);
      if (rest.work != 0 && rest.is_followed) return leave_with(rest.work);
      if (rest.work != 0 || done == turns) {
        leave_with(rest.work);
        if (!is_sent_.exchange(true)) send();
        return;
      }
      if (leave()) return;
    }
  }

 private:
  static constexpr std::uint32_t kHeld = 1U << 31;

  void leave_with(std::uint32_t work) {
    word_.fetch_or(work);
    word_.fetch_and(~kHeld);
  }

  Explored<std::uint32_t> word_{0};
  Explored<bool> is_sent_{false};
};

void insist_on(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}

/// The parts of DrivenConnection and CqFeed that determine which thread drives the connection. Data
/// is counted in pieces. Each turn moves one piece in each direction.
template <typename DriveLock>
class Model {
 public:
  explicit Model(int turns) : turns_(turns) {}

  // Functions that the program's threads call.
  void post(int pieces) {
    unsent_.fetch_add(static_cast<std::uint32_t>(pieces));
    kick(kTransmit, false);
  }
  void poll() { kick(kPoll | kPolled, false); }
  void let_go() { kick(kLetGo | kPoll, false); }
  /// Drives the connection in the same way as a call that destroys an object or deregisters memory.
  void sync() {
    lock_.lock();
    run(lock_.take() | kTransmit, false);
  }
  /// Simulates one more piece of data from the peer.
  void arrive() { unread_.fetch_add(1); }

  /// Waits until the worker has something to do, then does it.
  void work() {
    all_.await([this] { return sent_.peek() != 0 || is_woken(); });
    if (sent_.load() != 0) {
      sent_.fetch_sub(1);
      if (const auto all = lock_.succeed()) run(*all, true);
    } else if (is_waiting_.exchange(false)) {
      kick(kReadable, true);
    }
  }

  /// Checks that no work is left. Called when no thread can continue.
  void check() {
    insist_on(unsent_.peek() == 0, "what was posted has not left");
    insist_on(unread_.peek() == 0, "what came is not read");
    insist_on(mode_.peek() == DriveMode::kWorker, "nobody polls, and the worker does not know");
    insist_on(is_waiting_.peek(), "the worker does not wait for the socket");
    const auto left = lock_.enter(0);
    insist_on(left.has_value(), "the lock is held");
    insist_on(*left == 0, "work is left");
  }

 private:
  enum Work : std::uint32_t {
    kTransmit = 1,
    kReceive = 2,
    kPoll = 4,
    kPolled = 8,
    kLetGo = 16,
    kReadable = 32
  };

  bool is_woken() const { return is_waiting_.peek() && unread_.peek() != 0; }
  void kick(std::uint32_t work, bool by_worker) {
    if (const auto all = lock_.enter(work)) run(*all, by_worker);
  }
  void run(std::uint32_t work, bool by_worker) {
    const auto turn_of = [&](std::uint32_t now) -> typename DriveLock::Rest {
      const auto left = turn(now);
      return {.work = left, .is_followed = !by_worker && is_followed(mode_.get())};
    };
    lock_.drive(work, turns_, turn_of, [this] { sent_.fetch_add(1); });
  }
  std::uint32_t turn(std::uint32_t work) {
    insist_on(!in_turn_.set(true), "two threads drive at a time");
    if ((work & kLetGo) != 0) {
      change(DriveCause::kLetGo);
    } else if ((work & kPolled) != 0) {
      change(DriveCause::kPolled);
    }
    std::uint32_t left = 0;
    if ((work & (kReceive | kPoll | kReadable)) != 0 && move_one(unread_)) left |= kReceive;
    if ((work & kTransmit) != 0 && move_one(unsent_)) left |= kTransmit;
    const bool waits = mode_.get() == DriveMode::kWorker;
    is_waiting_.store(waits);
    in_turn_.set(false);
    return left;
  }
  void change(DriveCause cause) {
    const auto next = bytes::step(kDriveEdges, mode_.get(), cause);
    insist_on(next.has_value(), "not in the table of who drives");
    mode_.set(*next);
  }
  /// Moves one piece, if there is one. Returns whether more pieces remain.
  static bool move_one(Explored<std::uint32_t>& pieces) {
    const auto before = pieces.load();
    if (before == 0) return false;
    return pieces.fetch_sub(1) != 1;
  }

  Interleavings& all_ = *Interleavings::current();
  const int turns_;
  DriveLock lock_;
  Explored<std::uint32_t> unsent_{0};  // pieces that were posted and have not been sent
  Explored<std::uint32_t> unread_{0};  // pieces in the receive buffer of the socket
  Explored<bool> is_waiting_{true};    // whether the worker waits for the socket
  // Number of times that the worker has been asked to continue driving, and has not done so yet.
  Explored<std::uint32_t> sent_{0};
  Guarded<DriveMode> mode_{DriveMode::kWorker};
  Guarded<bool> in_turn_{false};
};

struct Found {
  std::optional<std::string> failure;
  std::size_t states = 0;
};

/// A list of the calls that one thread makes, in order.
template <typename DriveLock>
using Calls = std::vector<void (*)(Model<DriveLock>&)>;

/// Runs `threads` and a worker on a model.
template <typename DriveLock>
Found explore(int turns, const std::vector<Calls<DriveLock>>& threads) {
  Interleavings all;
  Model<DriveLock> model(turns);
  std::vector<Interleavings::Thread> named{
      {.name = 'w', .calls = {[&model] { model.work(); }}, .is_endless = true}};
  for (char name = 'a'; const auto& calls : threads) {
    auto& thread = named.emplace_back(Interleavings::Thread{.name = name++, .calls = {}});
    for (const auto call : calls) thread.calls.push_back([&model, call] { call(model); });
  }
  auto failure = all.explore(std::move(named), [&model] { model.check(); });
  return {.failure = std::move(failure), .states = all.states()};
}

template <typename DriveLock>
struct Scenarios {
  using M = Model<DriveLock>;
  static void poll(M& m) { m.poll(); }
  static void let_go(M& m) { m.let_go(); }
  static void post_one(M& m) { m.post(1); }
  static void post_two(M& m) { m.post(2); }
  static void arrive(M& m) { m.arrive(); }
  static void sync(M& m) { m.sync(); }

  using List = std::vector<std::vector<Calls<DriveLock>>>;
  static List all() {
    return {{{poll, let_go}, {post_two}},
            {{poll, let_go}, {post_one}, {arrive}},
            {{poll, post_two, let_go}, {poll, let_go}},
            {{post_two}, {sync}}};
  }
};

}  // namespace

TEST_CASE("in some interleaving, a lock released without a check for new work loses a wake-up") {
  const auto found = explore<BlindLock>(2, Scenarios<BlindLock>::all().front());
  REQUIRE(found.failure.has_value());
  MESSAGE(*found.failure);
}

TEST_CASE("posted requests are sent and arriving octets are read, in every interleaving") {
  for (const int turns : {1, 3}) {
    CAPTURE(turns);
    for (const auto& threads : Scenarios<Lock>::all()) {
      const auto found = explore<Lock>(turns, threads);
      MESSAGE("states: ", found.states);
      CHECK_MESSAGE(!found.failure, found.failure.value_or(""));
    }
  }
}
