// SPDX-License-Identifier: Apache-2.0
// Names the devices: those that the settings list or, without a list, as many as the settings
// demand, spread over the interfaces that have addresses.
#include "device/spec.hpp"

#include <algorithm>

#include "device/port.hpp"

namespace iwarp::rdma_core {
namespace {

std::string with(std::string pattern, const std::string& mark, const std::string& text) {
  if (const auto at = pattern.find(mark); at != pattern.npos)
    pattern.replace(at, mark.size(), text);
  return pattern;
}

/// Returns the name of the device with this number, by the pattern of the profile.
std::string name_of(const Profile& profile, unsigned index, const std::string& interface) {
  return with(with(profile.device_name, "{n}", std::to_string(index)), "{interface}", interface);
}

}  // namespace

std::shared_ptr<const Profile> profile_of(const Settings& chosen) {
  if (chosen.profile != nullptr) return chosen.profile;
  return *profiles::load(chosen.persona == Persona::kRoce ? "roce" : "iwarp");
}

std::vector<DeviceSpec> device_specs(const Settings& chosen) {
  const auto profile = profile_of(chosen);
  std::vector<DeviceSpec> out;
  const auto add = [&](std::string name, std::string where) {
    const auto twins = std::ranges::count(out, where, &DeviceSpec::where);
    out.push_back({.name = std::move(name),
                   .index = static_cast<unsigned>(out.size()),
                   .profile = profile,
                   .where = std::move(where),
                   .twin = static_cast<unsigned>(twins),
                   .list_loopback = chosen.list_loopback});
  };
  for (const auto& [name, where] : chosen.devices) add(name, where);
  if (!out.empty()) return out;
  const auto interfaces = interfaces_with_addresses();
  for (unsigned n = 0; n < chosen.device_count; ++n) {
    const std::string& interface = interfaces[n % interfaces.size()];
    // The only device represents all interfaces.
    std::string where = chosen.device_count == 1 ? std::string() : interface;
    const auto taken = [&](const std::string& name) {
      return std::ranges::find(out, name, &DeviceSpec::name) != out.end();
    };
    std::string name = name_of(*profile, n, interface);
    // A pattern without {n} gives the same name to two devices of one interface.
    if (taken(name)) name += '_' + std::to_string(n);
    add(std::move(name), std::move(where));
  }
  return out;
}

}  // namespace iwarp::rdma_core
