// SPDX-License-Identifier: Apache-2.0
// The list of devices, which has one entry.
//
// One device represents all network interfaces of the host. A program that uses rdma_cm resolves
// addresses, and the routing table then selects the interface. If each interface had its own
// device, memory that was registered on one device could not be used on a connection through
// another interface.
#include "device/device.hpp"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "device/persona.hpp"
#include "process/core.hpp"

namespace iwarp::rdma_core {
namespace {

/// The device: an ibv_device that is followed by zeros. Provider libraries (mlx5, efa) read the
/// bytes that follow an ibv_device, to check whether the device is their own.
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

}  // namespace

// The device is never destroyed, because other threads of the program may read it while the process
// exits.
ibv_device* the_device() {
  static Device& device = *new Device;
  return &device.abi;
}

bool is_device_removed() {
  const Core* const core = Core::existing();
  return core != nullptr && core->hooks() != nullptr && core->hooks()->is_device_removed();
}

extern "C" {

#undef ibv_get_device_list
ibv_device** ibv_get_device_list(int* num_devices) {
  auto** list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  const bool is_there = list != nullptr && !is_device_removed();
  if (num_devices != nullptr) *num_devices = is_there ? 1 : 0;
  if (is_there) list[0] = the_device();
  return list;
}

void ibv_free_device_list(ibv_device** list) { std::free(static_cast<void*>(list)); }

const char* ibv_get_device_name(ibv_device* of) { return of->name; }

int ibv_get_device_index(ibv_device*) { return 0; }

}  // extern "C"

}  // namespace iwarp::rdma_core
