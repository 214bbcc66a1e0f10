// SPDX-License-Identifier: Apache-2.0
// Decides which paths belong to RDMA devices, those of the system as well as the simulated one.
#pragma once

#include <string_view>

namespace iwarp::rdma_core::presence {

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

}  // namespace iwarp::rdma_core::presence
