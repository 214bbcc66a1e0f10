// SPDX-License-Identifier: Apache-2.0
// Manages the folder that contains the simulated files, BASE/iwarp-UID-STATE/{sys,dev}. BASE is
// TMPDIR, /dev/shm or /tmp. STATE is a digest of the contents, so that processes with the same
// contents share one folder.
//
// Each process holds a shared lock on its folder. When a process ends, it removes the folder,
// unless another process holds a lock on it. If a process was killed, its folder remains until
// another process makes a folder and removes the old one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iwarp::rdma_core::presence {

/// Returns the path of the folder. Makes the folder on first use, and again if it has disappeared.
/// If the presence is switched off, the path is empty, and no path of the program is redirected. If
/// the folder cannot be made, nothing exists at the path, so the program finds no RDMA device, and
/// in particular none of the system. The reference remains valid.
const std::string& folder();
/// Returns whether folder() was called, or the process was started with its working directory in a
/// simulated folder or in a folder of an RDMA device of the system.
bool folder_matters();

enum class End : std::uint8_t { kProcess, kProgram };
/// Unlocks the folder, and removes it if no other process holds a lock on it. Call at the end of
/// the process (End::kProcess), or before exec replaces the program (End::kProgram).
void give_back(End end);

/// If the path `real` is in the folder of this process, or in that of another process, returns the
/// name that programs use for this file. Otherwise returns nullopt.
std::optional<std::string> outside_name(std::string_view real);

}  // namespace iwarp::rdma_core::presence
