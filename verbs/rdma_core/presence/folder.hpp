// SPDX-License-Identifier: Apache-2.0
// The folder of the made-up files: BASE/iwarp-UID-STATE/{sys,dev}, where BASE is TMPDIR, /dev/shm
// or /tmp, and STATE a digest of the contents, so that processes that see the same files share one
// folder.
//
// Each process holds a shared lock on it. A process that ends removes it unless another one holds
// the lock; what a killed process left behind is removed by the next process that makes a folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iwarp::rdma_core::presence {

/// Returns the path of the folder, which is made on first use, and again if it has disappeared.
/// Empty if there is no place for it: then nothing is redirected. The reference remains valid.
const std::string& folder();
/// Returns whether folder() was called, or the process was started within such a folder.
bool folder_matters();

enum class End : std::uint8_t { kProcess, kProgram };
/// Releases the folder at the end of the process, or before exec replaces the program.
void give_back(End end);

/// If `real` is in such a folder, of this or another process, returns the name by which programs
/// know it.
std::optional<std::string> outside_name(std::string_view real);

}  // namespace iwarp::rdma_core::presence
