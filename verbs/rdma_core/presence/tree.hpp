// SPDX-License-Identifier: Apache-2.0
// Lists the simulated files, which a program finds if it reads files below /sys and /dev itself:
// the names, links and texts that the kernel has for RDMA devices and for rdma_cm. The list is
// made from the attributes of the devices. The functions in this header read and write no files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/port.hpp"

namespace iwarp::rdma_core::presence {

enum class Kind : std::uint8_t { kFolder, kText, kLink, kDevice };

struct Entry {
  std::string path;  ///< absolute path of the file, as the program names it
  Kind kind;
  std::string text;  ///< contents of a file, or target of a link
};

/// Returns all entries for these devices, each folder before its contents.
std::vector<Entry> entries(std::span<const DeviceSpec> devices);

/// Returns whether the path is that of a simulated file or folder, or is below a simulated folder.
bool is_region(std::string_view path);

/// Returns whether the path is a parent of a simulated folder, even if this parent does not exist
/// on the system.
bool leads_to_region(std::string_view path);

/// The number of a character device below /dev/infiniband.
struct DeviceNumber {
  unsigned major, minor;
};
DeviceNumber device_number(std::string_view path);

}  // namespace iwarp::rdma_core::presence
