// SPDX-License-Identifier: Apache-2.0
// Lists the simulated files, which a program finds if it reads files below /sys and /dev itself:
// the names, links and texts that the kernel has for RDMA devices and for rdma_cm. The list is
// made from the attributes of the devices. Also decides which paths belong to RDMA devices, those
// of the system as well as the simulated one. The functions in this header read and write no files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/port.hpp"

namespace iwarp::rdma_core::presence {

enum class EntryType : std::uint8_t { kFolder, kText, kLink, kDevice };

struct Entry {
  std::string path;  ///< absolute path of the file, as the program names it
  EntryType kind;
  std::string text;  ///< contents of a file, or target of a link
};

/// Returns all entries for these devices, each folder before its contents.
std::vector<Entry> entries(std::span<const DeviceSpec> devices);

/// Returns whether the path is that of a simulated file or folder, or is below a simulated folder.
bool is_region(std::string_view path);

/// Returns whether a program must look for `path` among the simulated files, even if the system has
/// a file of this name: the path is simulated, or it is that of an RDMA device of the system or is
/// below it, so that no program finds that device. `path` must be absolute, without links, "." and
/// "..".
bool is_rdma(std::string_view path);

/// Returns whether a path may lead to a path for which is_rdma() returns true. Reads no files, and
/// returns false for almost all paths that do not.
bool may_lead_to_rdma(const char* path);

/// Returns whether a file name is the number of a device, such as "231:192". The links in /dev/char
/// and /sys/dev/char have such names.
bool is_device_number(std::string_view name);

/// Returns whether the path is a parent of a simulated folder, even if this parent does not exist
/// on the system.
bool leads_to_region(std::string_view path);

/// The number of a character device below /dev/infiniband.
struct DeviceNumber {
  unsigned major, minor;
};
DeviceNumber device_number(std::string_view path);

}  // namespace iwarp::rdma_core::presence
