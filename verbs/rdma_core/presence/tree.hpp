// SPDX-License-Identifier: Apache-2.0
// What programs that look below /sys and /dev themselves find there: the names, links and texts
// that the kernel has for an RDMA device and for rdma_cm, as data. Reads and writes nothing;
// describes only what the port reports about itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/port.hpp"

namespace iwarp::rdma_core::presence {

enum class Kind : std::uint8_t { kFolder, kText, kLink, kDevice };

struct Entry {
  std::string path;  ///< absolute, by the program's names
  Kind kind;
  std::string text;  ///< contents of a file, or target of a link
};

/// Returns all entries, each folder before its contents.
std::vector<Entry> entries(const Port& port);

/// Returns whether the path is made up, or would be below a made-up one.
bool is_region(std::string_view path);

/// Returns whether the path is a folder above a made-up one, which the system may not have.
bool leads_to_region(std::string_view path);

/// Number of a character device below /dev/infiniband.
struct DeviceNumber {
  unsigned major, minor;
};
DeviceNumber device_number(std::string_view path);

}  // namespace iwarp::rdma_core::presence
