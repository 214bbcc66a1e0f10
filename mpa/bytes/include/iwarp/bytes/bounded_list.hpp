// SPDX-License-Identifier: Apache-2.0
// BoundedList: at most kCapacity small values, held in place, so that nothing on the data path
// allocates. Public headers use BoundedList, so it needs no other library (std::inplace_vector is
// C++26).
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <span>
#include <type_traits>

namespace iwarp::bytes {

/// A vector that never allocates, for trivially copyable values. Each member behaves like the
/// member of std::vector with the same name. Copying a list copies only the values in use. Adding
/// more than kCapacity values aborts the process. Not thread-safe.
template <typename T, std::size_t kCapacity>
class BoundedList {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  BoundedList() {}
  BoundedList(std::initializer_list<T> values) : BoundedList(values.begin(), values.end()) {}
  /// Copies the range, which has at most kCapacity values.
  template <std::input_iterator Iterator>
  BoundedList(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }
  BoundedList(const BoundedList& o) { copy(o); }
  BoundedList& operator=(const BoundedList& o) {
    if (this != &o) copy(o);
    return *this;
  }

  /// Return iterators, or the values as an array. The pointers are valid until the list is
  /// destroyed.
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }
  T* data() { return items_; }
  const T* data() const { return items_; }
  /// Return the number of values, whether the list is empty, and its capacity.
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  static constexpr std::size_t capacity() { return kCapacity; }

  /// Returns the value at `i`, which is below size().
  T& operator[](std::size_t i) { return assert(i < size_), items_[i]; }
  const T& operator[](std::size_t i) const { return assert(i < size_), items_[i]; }
  /// Return the first and the last value of a list that is not empty.
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  /// Appends a value.
  void push_back(const T& value) {
    if (size_ == kCapacity) std::abort();
    items_[size_++] = value;
  }
  /// Replace the contents with one value, or with a list of values.
  void assign(const T& only) {
    size_ = 1;
    items_[0] = only;
  }
  void assign(std::span<const T> values) {
    if (values.size() == 1) return assign(values.front());  // the usual number of values
    if (values.size() > kCapacity) std::abort();
    size_ = values.size();
    std::ranges::copy(values, items_);
  }
  /// Removes the last value of a list that is not empty.
  void pop_back() { assert(size_ != 0), --size_; }
  /// Removes all values.
  void clear() { size_ = 0; }

 private:
  void copy(const BoundedList& o) {
    size_ = o.size_;
    if (size_ == 1) {  // the usual number of values
      items_[0] = o.items_[0];
    } else {
      std::copy_n(o.items_, size_, items_);
    }
  }

  std::size_t size_ = 0;
  union {  // leaves the unused slots uninitialised
    T items_[kCapacity];
  };
};

}  // namespace iwarp::bytes
