// SPDX-License-Identifier: Apache-2.0
// Runs a small concurrent program through every interleaving of its atomic operations, in one
// thread. The program is real code that uses Explored<T> instead of std::atomic<T>.
//
// Each thread runs a list of functions whose behavior depends only on the results of their atomic
// operations. To execute the next step of a function, explore() runs the function again from its
// beginning and replays the recorded results. It throws an exception to end the run after the new
// step. explore() does not continue from a state that it has already reached. It assumes
// sequentially consistent memory and does not explore reorderings by the processor.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace iwarp::test {

class Interleavings {
 public:
  using Value = std::uint64_t;
  struct Thread {
    char name = '?';
    std::vector<std::function<void()>> calls;
    bool is_endless = false;  ///< whether the thread starts over after its last call
  };

  Interleavings() { current() = this; }
  ~Interleavings() { current() = nullptr; }
  Interleavings(const Interleavings&) = delete;
  Interleavings& operator=(const Interleavings&) = delete;
  static Interleavings*& current() {
    static Interleavings* one = nullptr;
    return one;
  }

  /// Explores all interleavings. Calls `at_end` in each state in which no thread can continue.
  /// `at_end` and the threads throw to report a failure. Returns the first failure, with the names
  /// of the threads in the order of their steps, or nullopt if no interleaving fails.
  std::optional<std::string> explore(std::vector<Thread> threads, std::function<void()> at_end) {
    threads_ = std::move(threads);
    at_end_ = std::move(at_end);
    state_.places.resize(threads_.size());
    return visit();
  }
  /// Returns the number of states that were reached.
  std::size_t states() const { return seen_.size(); }

  // --- Called by Explored and by the threads ---
  std::size_t add_cell(Value initial) {
    state_.cells.push_back(initial);
    return state_.cells.size() - 1;
  }
  /// Reads and changes a cell as one step of the thread. Returns the result of `operation`.
  template <typename Operation>
  Value step(std::size_t cell, Operation operation) {
    return once(true, [&] { return operation(state_.cells[cell]); });
  }
  /// Reads and changes a cell without taking a step, because a lock guards the cell.
  template <typename Operation>
  Value quiet(std::size_t cell, Operation operation) {
    return once(false, [&] { return operation(state_.cells[cell]); });
  }
  /// Blocks the thread until `condition`, a function of the cells, returns true.
  template <typename Condition>
  void await(Condition condition) {
    once(true, [&]() -> Value {
      if (!condition()) throw Blocked{};
      return 0;
    });
  }
  Value peek(std::size_t cell) const { return state_.cells[cell]; }

 private:
  struct Stepped {};
  struct Blocked {};
  struct Place {
    std::size_t call = 0;
    std::vector<Value> results;  // results of the operations of the current call so far
  };
  struct State {
    std::vector<Value> cells;
    std::vector<Place> places;  // one for each thread
  };

  template <typename Operation>
  Value once(bool is_step, Operation operation) {
    if (running_ == nullptr) return operation();  // at_end has called this function.
    auto& results = running_->results;
    if (replayed_ != results.size()) return results[replayed_++];
    if (is_step && std::exchange(has_stepped_, true)) throw Stepped{};
    const Value out = operation();
    results.push_back(out);
    ++replayed_;
    return out;
  }

  // Executes the next step of thread `number`. Returns false if the thread is blocked.
  bool advance(std::size_t number) {
    const Thread& thread = threads_[number];
    Place& place = state_.places[number];
    running_ = &place;
    has_stepped_ = false;
    bool can_go_on = true;
    try {
      while (place.call != thread.calls.size() && !has_stepped_) {
        replayed_ = 0;
        thread.calls[place.call]();
        place.results.clear();
        ++place.call;
        if (thread.is_endless) place.call %= thread.calls.size();
      }
      can_go_on = has_stepped_;
    } catch (const Stepped&) {
      can_go_on = true;
    } catch (const Blocked&) {
      can_go_on = false;
    }
    running_ = nullptr;
    return can_go_on;
  }

  std::optional<std::string> visit() {
    if (!seen_.insert(key()).second) return std::nullopt;
    bool is_end = true;
    const State here = state_;
    try {
      for (std::size_t i = 0; i != threads_.size(); ++i) {
        path_.push_back(threads_[i].name);
        if (advance(i)) {
          is_end = false;
          if (auto failure = visit()) return failure;
          state_ = here;
        }
        path_.pop_back();
      }
      if (is_end) at_end_();
      state_ = here;
    } catch (const std::runtime_error& wrong) {
      return path_ + ": " + wrong.what();
    }
    return std::nullopt;
  }

  std::string key() const {
    std::string out;
    const auto append = [&out](Value value) {
      const auto half = static_cast<std::uint32_t>(value);
      out.append(reinterpret_cast<const char*>(&half), sizeof half);
    };
    for (const Value value : state_.cells) append(value);
    for (const Place& place : state_.places) {
      append(place.call);
      append(place.results.size());
      for (const Value value : place.results) append(value);
    }
    return out;
  }

  std::vector<Thread> threads_;
  std::function<void()> at_end_;
  State state_;
  std::unordered_set<std::string> seen_;
  std::string path_;
  Place* running_ = nullptr;  // null while no thread runs
  std::size_t replayed_ = 0;
  bool has_stepped_ = false;
};

/// Replaces std::atomic<T>. Each operation is a step. A variable belongs to the Interleavings
/// object that exists when the variable is constructed.
template <typename T>
class Explored {
  using Value = Interleavings::Value;

 public:
  Explored(T initial)  // NOLINT(google-explicit-constructor): as std::atomic
      : all_(*Interleavings::current()),
        cell_(all_.add_cell(static_cast<Value>(initial))),
        notified_(all_.add_cell(0)) {}
  Explored(const Explored&) = delete;
  Explored& operator=(const Explored&) = delete;

  T load(std::memory_order = {}) const {
    return static_cast<T>(all_.step(cell_, [](Value& v) { return v; }));
  }
  void store(T value, std::memory_order = {}) { exchange(value); }
  T exchange(T value, std::memory_order = {}) {
    return change([value](T) { return value; });
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order = {},
                               std::memory_order = {}) {
    const T before = change([&](T now) { return now == expected ? desired : now; });
    return std::exchange(expected, before) == before;
  }
  T fetch_add(T n, std::memory_order = {}) {
    return change([n](T now) { return static_cast<T>(now + n); });
  }
  T fetch_sub(T n, std::memory_order = {}) {
    return change([n](T now) { return static_cast<T>(now - n); });
  }
  T fetch_or(T bits, std::memory_order = {}) {
    return change([bits](T now) { return static_cast<T>(now | bits); });
  }
  T fetch_and(T bits, std::memory_order = {}) {
    return change([bits](T now) { return static_cast<T>(now & bits); });
  }
  // Compares the value and blocks in one step, as futex(2) does. Only notify_all() wakes the
  // thread; a change of the value does not.
  void wait(T old, std::memory_order = {}) const {
    for (;;) {
      const Value asleep_since = all_.step(cell_, [&](Value& now) -> Value {
        return static_cast<T>(now) == old ? 1 + all_.peek(notified_) : 0;
      });
      if (asleep_since == 0) return;
      all_.await([&] { return 1 + all_.peek(notified_) != asleep_since; });
    }
  }
  void notify_all() {
    all_.step(notified_, [](Value& count) { return ++count; });
  }
  /// Reads the value without taking a step. Only the condition of await() and at_end call this.
  T peek() const { return static_cast<T>(all_.peek(cell_)); }

 private:
  template <typename Change>
  T change(Change to) {
    return static_cast<T>(all_.step(cell_, [&](Value& v) {
      return std::exchange(v, static_cast<Value>(to(static_cast<T>(v))));
    }));
  }

  Interleavings& all_;
  const std::size_t cell_;
  const std::size_t notified_;
};

/// A variable that is accessed only by the holder of a lock.
template <typename T>
class Guarded {
  using Value = Interleavings::Value;

 public:
  explicit Guarded(T initial)
      : all_(*Interleavings::current()), cell_(all_.add_cell(static_cast<Value>(initial))) {}
  T get() const {
    return static_cast<T>(all_.quiet(cell_, [](Value& v) { return v; }));
  }
  T set(T value) {
    return static_cast<T>(
        all_.quiet(cell_, [&](Value& v) { return std::exchange(v, static_cast<Value>(value)); }));
  }
  T peek() const { return static_cast<T>(all_.peek(cell_)); }

 private:
  Interleavings& all_;
  const std::size_t cell_;
};

}  // namespace iwarp::test
