// SPDX-License-Identifier: Apache-2.0
// Makes input that can be read only once, such as a shell's <(COMMAND), readable more than once.
#pragma once

#include <string>

namespace iwarp::apps {

/// Where rereadable() puts a copy. The copy ends with the last process that inherits it.
inline constexpr const char* kCopies = "/proc/self/fd/";

/// Returns `path`, unless it names a pipe: then reads the pipe to its end and returns the path of a
/// copy, which this process and the program that it executes can open any number of times. Returns
/// the same copy for the same path again. Throws UsageError if the pipe cannot be read or has more
/// than 4 MiB.
std::string rereadable(const std::string& path);

}  // namespace iwarp::apps
