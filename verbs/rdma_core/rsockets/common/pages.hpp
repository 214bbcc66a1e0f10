// SPDX-License-Identifier: Apache-2.0
// Pages: memory that is mapped with mmap(2) for one rsocket.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <span>

namespace iwarp::rdma_core::rsockets {

/// Owns the mapped memory, which is initially filled with zeros. The destructor unmaps it.
class Pages {
 public:
  /// Throws std::bad_alloc if the memory cannot be mapped.
  explicit Pages(std::size_t size)
      : size_(size),
        data_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Pages() { ::munmap(data_, size_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t size() const { return size_; }
  std::span<std::byte> octets() const { return {data(), size_}; }

 private:
  std::size_t size_;
  void* data_;
};

}  // namespace iwarp::rdma_core::rsockets
