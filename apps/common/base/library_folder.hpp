// SPDX-License-Identifier: Apache-2.0
// Finds the files that belong to this program: the drop-in libraries and the judge of devices.
#pragma once

#include <filesystem>

namespace iwarp::apps {

inline constexpr const char* kVerbsLibrary = "libibverbs.so.1";
inline constexpr const char* kCmLibrary = "librdmacm.so.1";
inline constexpr const char* kPresenceLibrary = "libiwarp_presence.so.1";

/// Returns the folder that contains the libraries: IWARP_LIB_DIR if it is set; otherwise lib/iwarp
/// below the prefix that contains this program, in the build tree or in an installation. Throws
/// Error if there is no such folder.
std::filesystem::path library_folder();

/// Returns the path of this program.
std::filesystem::path own_path();

}  // namespace iwarp::apps
