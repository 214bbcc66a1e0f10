// SPDX-License-Identifier: Apache-2.0
// rdma_get_devices(), the device of an id, and the default protection domain of ids. A device that
// is used by ids stays open until the process exits.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>

#include "cm/datagrams.hpp"
#include "cm/id.hpp"
#include "device/device.hpp"
#include "objects/objects.hpp"

namespace iwarp::rdma_core {

// [RCM-201, RCM-220]
ibv_pd* default_pd(ibv_context* verbs) {
  // Each process has one default protection domain for each default context. The child of a fork
  // makes domains of its own.
  static std::mutex mutex;
  static std::map<ibv_context*, ibv_pd*> domains;
  const std::lock_guard lock(mutex);
  ibv_pd*& pd = domains[verbs];
  if (pd == nullptr) pd = ibv_alloc_pd(verbs);
  if (pd == nullptr) throw std::system_error(errno, std::generic_category());
  return pd;
}

Device& device_of(const CmId& id) {
  if (id.abi.verbs != nullptr) return Context::of(id.abi.verbs).device;
  return device_at(gid_of(id.source()));
}

Port port_of_device(const CmId& id) { return device_of(id).port(); }

extern "C" {

// [RCM-19, RCM-20, RCM-21]
ibv_context** rdma_get_devices(int* count) {
  return guarded_pointer<ibv_context*>([&] {
    const auto all = devices();
    auto** list = static_cast<ibv_context**>(std::calloc(all.size() + 1, sizeof(ibv_context*)));
    if (list == nullptr) throw std::bad_alloc();
    std::ranges::transform(all, list, [](Device* device) { return default_context(*device); });
    if (count != nullptr) *count = static_cast<int>(all.size());
    return list;
  });
}

// [RCM-22]
void rdma_free_devices(ibv_context** list) { std::free(static_cast<void*>(list)); }

}  // extern "C"

}  // namespace iwarp::rdma_core
