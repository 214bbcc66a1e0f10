// SPDX-License-Identifier: Apache-2.0
// The folder in which the made-up files are: BASE/iwarp-UID-STATE/{sys,dev}, where BASE is TMPDIR,
// /dev/shm or /tmp, and STATE a digest of what is in it, so that processes which see the same share
// one.
//
// Each holds a shared lock on it. Who ends removes it unless somebody else holds one; what a killed
// process left is removed by the next that makes one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iwarp::rdma_core::presence {

/// Made when first asked for, and again if it is gone. Empty: there is no place for it, and
/// everything is as it is. The reference is good for ever.
const std::string& folder();
/// folder() was called, or the process was started within one.
bool folder_matters();

enum class End : std::uint8_t { kProcess, kProgram };
/// What a process does with its folder at its end, or before another program takes its place.
void give_back(End end);

/// `real` is in a folder of ours, of this process or of another: what programs call it.
std::optional<std::string> outside_name(std::string_view real);

}  // namespace iwarp::rdma_core::presence
