// SPDX-License-Identifier: Apache-2.0
// The device list, which has one entry, and contexts.
//
// One device, whatever the interfaces: rdma_cm programs resolve by address and TCP routes, so a
// device per interface would only keep memory registered on one from being used through another.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "careful/checker.hpp"
#include "device/device_ops.hpp"
#include "device/limits.hpp"
#include "device/persona.hpp"
#include "faults/calls.hpp"
#include "objects/objects.hpp"
#include "objects/ops.hpp"
#include "process/errno_table.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

/// Providers that programs link to (mlx5, efa) ask each device whether it is theirs, and look
/// behind the public struct for it: there they find zeros.
struct Device {
  ibv_device abi{};
  std::array<std::byte, 256> behind{};

  Device() {
    abi.node_type = facts().node_type;
    abi.transport_type = facts().transport;
    std::strcpy(abi.name, "iwarp0");
    std::strcpy(abi.dev_name, "uverbs0");
    std::strcpy(abi.dev_path, "/sys/class/infiniband_verbs/uverbs0");
    std::strcpy(abi.ibdev_path, "/sys/class/infiniband/iwarp0");
  }
};

/// The user has taken the device away.
bool is_removed() {
  const Core* const core = Core::existing();
  return core != nullptr && fault::is_removed(*core);
}

constexpr int kNoCommandDescriptor = -1;
constexpr const char* kNoXrc = "iWARP has no XRC";

void fill_slots(verbs_context& context) {
  context.sz = sizeof context;
  context.query_port = query_port;
  context.query_device_ex = query_device_ex;
  context.create_cq_ex = create_cq_ex;
  context.modify_cq = modify_cq;
  context.create_qp_ex = create_qp_ex;
  context.create_srq_ex = create_srq_ex;
  context.get_srq_num = get_srq_num;
  // Without it the headers would refuse, but not say why.
  context.open_xrcd = [](ibv_context*, ibv_xrcd_init_attr*) -> ibv_xrcd* {
    errno = refused("ibv_open_xrcd", kNoXrc);
    return nullptr;
  };
  // The headers call this one without looking whether it is there.
  context.close_xrcd = [](ibv_xrcd*) { return refused("ibv_close_xrcd", kNoXrc); };
}

void fill_slots(ibv_context_ops& ops) {
  ops.alloc_mw = alloc_mw;
  ops.bind_mw = bind_mw;
  ops.dealloc_mw = dealloc_mw;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_srq_recv = post_srq_recv;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
}

}  // namespace

Context::Context(Core& core_of_process) : core(core_of_process) {
  fill_slots(abi);
  ibv_context& context = abi.context;
  fill_slots(context.ops);
  context.device = the_device();
  context.cmd_fd = kNoCommandDescriptor;
  context.async_fd = async.fd();
  context.num_comp_vectors = kCompVectors;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&context.mutex, nullptr);
  fault::opened(*this);
  careful::opened(*this);
}

Context::~Context() {
  fault::gone(*this);
  pthread_mutex_destroy(&abi.context.mutex);
}

// Programs read it from other threads while the process exits, so it is never destroyed.
ibv_device* the_device() {
  static Device& device = *new Device;
  return &device.abi;
}

ibv_context* default_context() {
  // Each process has its own: a child of a fork cannot use the parent's.
  static std::mutex mutex;
  static Context* context = nullptr;
  Core& core = Core::get();
  const std::lock_guard lock(mutex);
  if (context == nullptr || &context->core != &core) context = new Context(core);
  return context->handle();
}

}  // namespace iwarp::rdma_core

using namespace iwarp::rdma_core;  // NOLINT(google-build-using-namespace): the C interface's half

extern "C" {

#undef ibv_get_device_list
ibv_device** ibv_get_device_list(int* num_devices) {
  auto** list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  const bool is_there = list != nullptr && !is_removed();
  if (num_devices != nullptr) *num_devices = is_there ? 1 : 0;
  if (is_there) list[0] = the_device();
  return list;
}

void ibv_free_device_list(ibv_device** list) { std::free(static_cast<void*>(list)); }

const char* ibv_get_device_name(ibv_device* of) { return of->name; }

int ibv_get_device_index(ibv_device*) { return 0; }

ibv_context* ibv_open_device(ibv_device* of) {
  if (of != the_device() || is_removed()) {
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
