// SPDX-License-Identifier: Apache-2.0
#include "rsockets/common/pages.hpp"

#include <sys/mman.h>

#include <new>

namespace iwarp::rdma_core::rsockets {

Pages::Pages(std::size_t size) : size_(size) {
  void* const at =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(at);
}

Pages::~Pages() { ::munmap(data_, size_); }

}  // namespace iwarp::rdma_core::rsockets
