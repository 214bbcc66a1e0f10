// SPDX-License-Identifier: Apache-2.0
// Contexts, which ibv_open_device() creates and ibv_close_device() destroys.
#include <cerrno>

#include "device/device.hpp"
#include "device/limits.hpp"
#include "objects/objects.hpp"
#include "objects/port_events.hpp"
#include "process/errno_table.hpp"

namespace iwarp::rdma_core {

Context::Context(Core& core_of_process)
    : core(core_of_process), rnic(core.rnic()), hooks(core.hooks()), persona(settings().persona) {
  fill_calls(*this);
  ibv_context& context = abi.context;
  context.device = the_device();
  context.cmd_fd = -1;  // the device takes no commands
  context.async_fd = async.fd();
  context.num_comp_vectors = kCompVectors;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&context.mutex, nullptr);
  core.service<PortEvents>().opened(*this);
  if (hooks != nullptr) hooks->opened(*this);
}

Context::~Context() {
  if (hooks != nullptr) hooks->closed(*this);
  core.service<PortEvents>().closed(*this);
  pthread_mutex_destroy(&abi.context.mutex);
}

ibv_context* default_context() {
  // Each process has one default context. The child of a fork opens its own context, because it
  // cannot use the context of its parent.
  static std::mutex mutex;
  static Context* context = nullptr;
  Core& core = Core::get();
  const std::lock_guard lock(mutex);
  if (context == nullptr || &context->core != &core) context = new Context(core);
  return context->handle();
}

extern "C" {

ibv_context* ibv_open_device(ibv_device* of) {
  if (of != the_device() || is_device_removed()) {
    errno = ENODEV;
    return nullptr;
  }
  return guarded_pointer<ibv_context>([] { return (new Context(Core::get()))->handle(); });
}

int ibv_close_device(ibv_context* handle) {
  Context& context = Context::of(handle);
  if (context.users.load() == 0) leave(context);
  return 0;
}

}  // extern "C"

}  // namespace iwarp::rdma_core
