// SPDX-License-Identifier: Apache-2.0
// Manages the folder that contains the made-up files, BASE/iwarp-UID-STATE/{sys,dev}. BASE is
// TMPDIR, /dev/shm or /tmp. STATE is a digest of the contents, so that processes that see the same
// files share one folder.
//
// Each process holds a shared lock on its folder. When a process ends, it removes the folder unless
// another process holds the lock. If a process was killed, the next process that makes a folder
// removes the one that was left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iwarp::rdma_core::presence {

/// Returns the path of the folder. Makes it on first use, and again if it has disappeared. The path
/// is empty if the folder cannot be made. No path is redirected then. The reference remains valid.
const std::string& folder();
/// Returns whether folder() was called, or the process was started within such a folder.
bool folder_matters();

enum class End : std::uint8_t { kProcess, kProgram };
/// Unlocks the folder, and removes it if no other process holds a lock on it. Call at the end of
/// the process, or before exec replaces the program.
void give_back(End end);

/// If `real` is in the folder of this process or of another one, returns the name that programs use
/// for this file. Otherwise returns nullopt.
std::optional<std::string> outside_name(std::string_view real);

}  // namespace iwarp::rdma_core::presence
