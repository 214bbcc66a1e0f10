// SPDX-License-Identifier: Apache-2.0
#include "netlink/own_links.hpp"

#include <endian.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "device/attributes.hpp"
#include "iwarp/profiles/device_name.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::netlink {
namespace {

LinkView view_of(const DeviceSpec& device) {
  const Port port = look_at_port(device);
  LinkView out;
  out.index = device.index;
  out.name = device.name;
  out.firmware = firmware(*device.profile);
  out.node_type = static_cast<std::uint8_t>(device.profile->node_type);
  out.node_guid = be64toh(port.guid);
  out.sys_image_guid = out.node_guid;
  out.caps = device_attributes(*device.profile).device_cap_flags;
  out.netdev = port.interface;
  out.netdev_index = ::if_nametoindex(out.netdev.c_str());
  out.is_up = port.is_up();
  out.protocol = device.persona() == Persona::kRoce ? "roce" : "iw";
  return out;
}

}  // namespace

std::vector<LinkView> OwnLinks::list() {
  std::vector<LinkView> out;
  for (const DeviceSpec& device : device_specs(settings_now())) out.push_back(view_of(device));
  return out;
}

int OwnLinks::add(const std::string& name, const std::string& type, const std::string& netdev) {
  if (!profiles::is_device_name(name)) return EINVAL;
  if (::if_nametoindex(netdev.c_str()) == 0) return ENODEV;
  if (type != "rxe" && type != "siw") return EINVAL;
  const Settings now = settings_now();
  const Persona persona = type == "rxe" ? Persona::kRoce : Persona::kIwarp;
  const auto same = std::ranges::find(now.devices, name, &options::DeviceChoice::name);
  if (same != now.devices.end()) {
    // A set-up script may add the device that the user has already chosen with --device.
    const auto added = session_.devices();
    const bool is_added = std::ranges::find(added, name, &AddedDevice::name) != added.end();
    return is_added || now.persona != persona ? EEXIST : 0;
  }
  // All devices of a process have one profile.
  const bool is_chosen = now.profile != nullptr || ::secure_getenv("IWARP_AS") != nullptr;
  if (is_chosen && now.persona != persona) return EOPNOTSUPP;
  return session_.add(name, type, netdev);
}

int OwnLinks::remove(std::uint32_t index) {
  const auto now = list();
  const auto link = std::ranges::find(now, index, &LinkView::index);
  if (link == now.end()) return EINVAL;
  const auto added = session_.devices();
  const auto device = std::ranges::find(added, link->name, &AddedDevice::name);
  return device != added.end() ? session_.remove(device->number) : EINVAL;
}

}  // namespace iwarp::rdma_core::netlink
