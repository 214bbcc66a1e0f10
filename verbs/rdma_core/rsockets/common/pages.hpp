// SPDX-License-Identifier: Apache-2.0
// Pages: memory that is mapped with mmap(2) for one rsocket.
#pragma once

#include <cstddef>
#include <span>

namespace iwarp::rdma_core::rsockets {

/// Owns the mapped memory, which is initially filled with zeros. The destructor unmaps it.
class Pages {
 public:
  /// Throws std::bad_alloc if the memory cannot be mapped.
  explicit Pages(std::size_t size);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<std::byte> octets() const { return {data_, size_}; }

 private:
  std::size_t size_;
  std::byte* data_;
};

}  // namespace iwarp::rdma_core::rsockets
