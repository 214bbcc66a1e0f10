// SPDX-License-Identifier: Apache-2.0
// What programs that look by hand shall find below /sys and /dev: the names, links and texts that
// the kernel has for an RDMA device and for rdma_cm, as data. Nothing is read or written here but
// what the port says of itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/port.hpp"

namespace iwarp::rdma_core::presence {

enum class Kind : std::uint8_t { kFolder, kText, kLink, kDevice };

struct Entry {
  std::string path;  ///< absolute, as programs name it
  Kind kind;
  std::string text;  ///< of a file; of a link, where it leads
};

/// Folders before what is in them.
std::vector<Entry> entries(const Port& port);

/// The path is one of those that are made up, or would be below one.
bool is_region(std::string_view path);

/// A folder above one of those, which the system may not have.
bool leads_to_region(std::string_view path);

/// Of the character devices below /dev/infiniband.
struct DeviceNumber {
  unsigned major, minor;
};
DeviceNumber device_number(std::string_view path);

}  // namespace iwarp::rdma_core::presence
