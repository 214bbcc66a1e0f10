// SPDX-License-Identifier: Apache-2.0
// Contexts, which ibv_open_device() creates and ibv_close_device() destroys.
#include <cerrno>
#include <map>
#include <mutex>

#include "device/device.hpp"
#include "device/limits.hpp"
#include "objects/objects.hpp"
#include "objects/port_events.hpp"
#include "process/errno_table.hpp"

namespace iwarp::rdma_core {

Context::Context(Core& core_of_process, Device& its_device)
    : core(core_of_process),
      device(its_device),
      rnic(core.rnic()),
      hooks(core.hooks()),
      persona(device.spec().persona()) {
  fill_calls(*this);
  ibv_context& context = abi.context;
  context.device = device.handle();
  context.cmd_fd = -1;  // the device takes no commands
  // [IBV-16]
  context.async_fd = async.fd();
  context.num_comp_vectors = kCompVectors;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&context.mutex, nullptr);
  // The last step, because the destructor does not run if the constructor throws.
  if (hooks != nullptr) hooks->opened(*this);
  core.service<PortEvents>().opened(*this);
}

Context::~Context() {
  if (hooks != nullptr) hooks->closed(*this);
  core.service<PortEvents>().closed(*this);
  pthread_mutex_destroy(&abi.context.mutex);
}

ibv_context* default_context(Device& device) {
  // Each process has one default context per device. The child of a fork opens its own contexts,
  // because it cannot use the contexts of its parent.
  static std::mutex mutex;
  static std::map<Device*, Context*> contexts;
  Core& core = Core::get();
  const std::lock_guard lock(mutex);
  Context*& context = contexts[&device];
  if (context == nullptr || &context->core != &core) context = new Context(core, device);
  return context->handle();
}

extern "C" {

// [IBV-13, IBV-14]
ibv_context* ibv_open_device(ibv_device* of) {
  return guarded_pointer<ibv_context>([of] {
    Device* const device = Device::find(of);
    if (device == nullptr || is_removed(*device)) fail(ENODEV);
    return (new Context(Core::get(), *device))->handle();
  });
}

// [IBV-15]
int ibv_close_device(ibv_context* handle) {
  Context& context = Context::of(handle);
  if (context.users.load() == 0) leave(context);
  return 0;
}

}  // extern "C"

}  // namespace iwarp::rdma_core
