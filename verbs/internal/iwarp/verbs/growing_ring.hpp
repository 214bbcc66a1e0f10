// SPDX-License-Identifier: Apache-2.0
// GrowingRing: the first-in, first-out ring of a queue. It allocates memory only when the memory is
// needed, and frees the memory only in the destructor. Applications often request a thousand times
// the capacity that they use, and a small ring stays in the cache.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace iwarp::verbs {

/// A queue of T, which is default-constructible. Not thread-safe.
template <typename T>
class GrowingRing {
 public:
  /// Return whether the queue is empty, the number of its elements, and the oldest element.
  bool empty() const { return head_ == tail_; }
  std::size_t size() const { return tail_ - head_; }
  T& front() { return slots_[head_ & mask_]; }
  /// Returns element `i`; index 0 is the oldest element.
  T& operator[](std::size_t i) { return slots_[(head_ + i) & mask_]; }
  const T& operator[](std::size_t i) const { return slots_[(head_ + i) & mask_]; }

  /// Makes room for `count` more elements. Returns false, and changes nothing, if there is no
  /// memory.
  bool make_room(std::size_t count = 1) { return slot_count_ - size() >= count || grow(count); }
  /// Adds a new element at the end, for which make_room() has made room, and returns it. The
  /// element still has the former contents of its slot.
  T& push_back() { return slots_[tail_++ & mask_]; }
  /// Returns the slot of the element that push_back() will add.
  T& next() { return slots_[tail_ & mask_]; }
  /// Removes the oldest `count` elements, or all elements.
  void pop_front(std::size_t count = 1) { head_ += count; }
  void clear() { head_ = tail_; }
  /// Removes the elements for which `goes` returns true.
  template <typename Predicate>
  void erase_if(Predicate goes) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      if (goes((*this)[i])) continue;
      if (kept != i) (*this)[kept] = (*this)[i];
      ++kept;
    }
    tail_ = head_ + kept;
  }

 private:
  [[gnu::noinline]] bool grow(std::size_t count) {
    constexpr std::size_t kFirst = 2;
    const auto more = std::max(kFirst, std::bit_ceil(size() + count));
    std::unique_ptr<T[]> slots(new (std::nothrow) T[more]);
    if (slots == nullptr) return false;
    for (std::size_t i = 0; i < size(); ++i) slots[i] = std::move((*this)[i]);
    tail_ = size();
    head_ = 0;
    slot_count_ = more;
    mask_ = more - 1;
    slots_ = std::move(slots);
    return true;
  }

  std::unique_ptr<T[]> slots_;
  std::size_t slot_count_ = 0;
  std::size_t mask_ = 0;  ///< maps head_ and tail_ to slots
  std::size_t head_ = 0;  ///< number of elements removed
  std::size_t tail_ = 0;  ///< number of elements added
};

}  // namespace iwarp::verbs
