// SPDX-License-Identifier: Apache-2.0
// is_device_name(): the rule for the names of devices, which users choose with --device, scripts
// with `rdma link add`, and authors of profiles with device.name.
#pragma once

#include <algorithm>
#include <string_view>

namespace iwarp::profiles {

/// The rule as part of an error message.
inline constexpr std::string_view kDeviceNameRule = "at most 63 letters, digits, '_', '-' and '.'";

/// Returns whether the name is one for a device: 1 to 63 letters, digits, '_', '-' and '.', but
/// neither "." nor "..", because files of the device have its name.
constexpr bool is_device_name(std::string_view name) {
  constexpr std::size_t kMax = 63;  // IBV_SYSFS_NAME_MAX without the terminating zero
  const auto is_usable = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= kMax && name != "." && name != ".." &&
         std::ranges::all_of(name, is_usable);
}

}  // namespace iwarp::profiles
