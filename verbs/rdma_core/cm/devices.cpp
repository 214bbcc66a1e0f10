// SPDX-License-Identifier: Apache-2.0
// rdma_get_devices(), and the default protection domain of ids. There is only one device, which
// stays open until the process exits.
#include <cerrno>
#include <cstdlib>

#include "cm/id.hpp"
#include "device/device.hpp"
#include "objects/objects.hpp"

namespace iwarp::rdma_core {

ibv_pd* default_pd(ibv_context* verbs) {
  // Each process has one default protection domain, just as it has one default context. The child
  // of a fork makes a domain of its own.
  static std::mutex mutex;
  static ibv_pd* pd = nullptr;
  const std::lock_guard lock(mutex);
  if (pd == nullptr || pd->context != verbs) pd = ibv_alloc_pd(verbs);
  if (pd == nullptr) throw std::system_error(errno, std::generic_category());
  return pd;
}

extern "C" {

ibv_context** rdma_get_devices(int* count) {
  return guarded_pointer<ibv_context*>([&] {
    ibv_context* const context = default_context();
    auto** list = static_cast<ibv_context**>(std::calloc(2, sizeof(ibv_context*)));
    if (list == nullptr) throw std::bad_alloc();
    list[0] = context;
    if (count != nullptr) *count = 1;
    return list;
  });
}

void rdma_free_devices(ibv_context** list) { std::free(static_cast<void*>(list)); }

}  // extern "C"

}  // namespace iwarp::rdma_core
