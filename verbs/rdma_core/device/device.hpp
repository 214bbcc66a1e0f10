// SPDX-License-Identifier: Apache-2.0
// Device: an RDMA device of the process, which is named, restricted to network interfaces and
// limited as its DeviceSpec says.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "device/port.hpp"

namespace iwarp::rdma_core {

/// Stores the index of each GID that a process has seen. As in the kernel, a GID keeps its index
/// while other addresses of the host come and go, because programs look up an index once and use it
/// later. For example, a link-local IPv6 address appears seconds after its interface. Without this
/// table, the GID of such an address would be inserted in front of other GIDs and change their
/// indices.
class GidTable {
 public:
  /// Reorders the GIDs in `port`, which look_at_port() has listed: each GID gets the index
  /// that it has in this table. The entry of a GID that the host no longer has is filled with
  /// zeros. A new GID gets the first entry of zeros, or is appended.
  void arrange(Port& port);

 private:
  void insert(const PortGid& row);

  std::vector<PortGid> rows_;
};

class Device {
 public:
  explicit Device(DeviceSpec spec);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  /// Returns the device to which the program has a pointer, or null if there is no such device.
  static Device* find(const ibv_device* abi);
  /// Returns the device. The pointer must be that of a device.
  static Device& of(ibv_device* abi) { return *reinterpret_cast<Device*>(abi); }

  ibv_device* handle() { return &abi_; }
  const DeviceSpec& spec() const { return spec_; }
  const Profile& profile() const { return *spec_.profile; }
  /// Returns the attributes of the device, without its GUIDs. All limits of the device are from
  /// here.
  const ibv_device_attr& limits() const { return limits_; }
  /// Returns the maximum length of a message in octets.
  std::uint32_t max_message() const { return max_message_; }
  ibv_mtu max_mtu() const { return max_mtu_; }

  /// Returns the port that the program sees. GIDs that an earlier call has returned keep their
  /// indices, and interfaces that carried the port in an earlier call still do, even if they have
  /// lost their addresses. If an earlier call has found a port without carriers, later calls list
  /// loopback addresses, too. Thread-safe.
  Port port();

 private:
  ibv_device abi_{};  ///< must be the first member, as the cast in of() requires
  /// Zeros, which provider libraries (mlx5, efa) read to check whether the device is their own.
  std::array<std::byte, 256> behind_{};
  DeviceSpec spec_;
  ibv_device_attr limits_;
  std::uint32_t max_message_;
  ibv_mtu max_mtu_;
  std::mutex mutex_;  ///< guards the members below
  GidTable table_;
  std::set<unsigned> carriers_;
};

/// Returns the devices that rdma_get_devices() and ibv_get_device_list() list, at least one. They
/// are never destroyed, because other threads of the program may read them while the process exits.
std::span<Device* const> devices();
/// Returns the device whose port has this IP address, or the first device if none has it.
Device& device_at(const ibv_gid& ip);
/// Returns why this process does not support datagrams, or null if it does.
const char* why_no_datagrams();
/// Returns whether an injected fault has removed the device.
bool is_removed(const Device& device);

}  // namespace iwarp::rdma_core
