// SPDX-License-Identifier: Apache-2.0
// Lists the made-up files that programs find when they read below /sys and /dev themselves: the
// names, links and texts that the kernel has for an RDMA device and for rdma_cm. The code here only
// makes the list, from the facts that the port reports about itself, and reads and writes no files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/port.hpp"

namespace iwarp::rdma_core::presence {

enum class Kind : std::uint8_t { kFolder, kText, kLink, kDevice };

struct Entry {
  std::string path;  ///< absolute path, as the program names it
  Kind kind;
  std::string text;  ///< contents of a file, or target of a link
};

/// Returns all entries, each folder before its contents.
std::vector<Entry> entries(const Port& port);

/// Returns whether the path is a made-up one, or would be below a made-up one.
bool is_region(std::string_view path);

/// Returns whether the path is a folder above a made-up one. The system may not have this folder.
bool leads_to_region(std::string_view path);

/// The number of a character device below /dev/infiniband.
struct DeviceNumber {
  unsigned major, minor;
};
DeviceNumber device_number(std::string_view path);

}  // namespace iwarp::rdma_core::presence
