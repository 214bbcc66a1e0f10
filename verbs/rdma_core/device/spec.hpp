// SPDX-License-Identifier: Apache-2.0
// DeviceSpec: which devices this process shows, with the profile and the network interface of each.
// By default there is one device, which represents all network interfaces: a program that uses
// rdma_cm resolves addresses, and the routing table then selects the interface. Memory that was
// registered on one device cannot be used on another one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "iwarp/profiles/profile.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

using profiles::GidType;
using profiles::Profile;

struct DeviceSpec {
  std::string name;    ///< "iwarp0"
  unsigned index = 0;  ///< the number N of uverbsN
  std::shared_ptr<const Profile> profile;
  std::string where;           ///< a network interface, an IP address, or empty for all interfaces
  unsigned twin = 0;           ///< number of devices with a lower index and the same `where`
  bool list_loopback = false;  ///< the setting IWARP_LOOPBACK

  Persona persona() const { return profile->is_rnic() ? Persona::kIwarp : Persona::kRoce; }
};

/// Returns the profile that the settings select.
std::shared_ptr<const Profile> profile_of(const Settings& chosen);
/// Returns the devices that the settings request, at least one.
std::vector<DeviceSpec> device_specs(const Settings& chosen);

}  // namespace iwarp::rdma_core
