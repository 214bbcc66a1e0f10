// SPDX-License-Identifier: Apache-2.0
// MovingQueue: a first-in, first-out queue in one piece of memory, so that its elements are a
// contiguous range. Whenever the queue runs empty, it starts over at the beginning of its memory,
// so it uses only a few cache lines. Only make_room() grows the queue and moves its elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace iwarp::mpa {

template <typename T>
class MovingQueue {
 public:
  T* begin() { return first_; }
  T* end() { return last_; }
  const T* begin() const { return first_; }
  const T* end() const { return last_; }
  bool empty() const { return first_ == last_; }
  std::size_t size() const { return static_cast<std::size_t>(last_ - first_); }
  T& front() { return *first_; }
  const T& front() const { return *first_; }
  T& back() { return *(last_ - 1); }

  /// Makes room for `more` calls of push_back().
  void make_room(std::size_t more) {
    if (static_cast<std::size_t>(limit_ - last_) < more) [[unlikely]]
      move(more);
  }
  void push_back(const T& value) { *last_++ = value; }
  void pop_back() { --last_; }
  void pop_front() {
    if (++first_ == last_) first_ = last_ = items_.get();
  }

 private:
  // Leaves at least half of the memory free at the end, so that move() is seldom needed again.
  [[gnu::noinline]] void move(std::size_t more) {
    const auto count = size();
    const auto needed = 2 * (count + more);
    std::unique_ptr<T[]> larger;
    if (needed > static_cast<std::size_t>(limit_ - items_.get())) {
      larger = std::make_unique_for_overwrite<T[]>(needed);
      limit_ = larger.get() + needed;
    }
    T* const to = larger != nullptr ? larger.get() : items_.get();
    std::copy(first_, last_, to);
    if (larger != nullptr) items_ = std::move(larger);
    first_ = to;
    last_ = to + count;
  }

  std::unique_ptr<T[]> items_;
  T* first_ = nullptr;
  T* last_ = nullptr;
  T* limit_ = nullptr;  ///< end of the memory of items_
};

}  // namespace iwarp::mpa
