// SPDX-License-Identifier: Apache-2.0
// Records the profile of an RDMA device: everything by which programs and scripts tell one device
// from another. It sends no traffic, and changes nothing on the device.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace iwarp::apps {

/// Returns the profile of the device that libibverbs lists as `name`, in the format of
/// verbs/profiles. Its keys have a fixed order, so that profiles of two devices can be compared
/// line by line. Reads the device by libibverbs.so.1, which is loaded when this function is called,
/// and by its files in sysfs. Throws Error if the library or the device does not exist, if the
/// device cannot be opened or read, or if its port is not an Ethernet port.
nlohmann::ordered_json record_device(const std::string& name);

}  // namespace iwarp::apps
