// SPDX-License-Identifier: Apache-2.0
// The set of descriptors that this layer has open. The child of a fork closes them.
#pragma once

#include <cstddef>

namespace iwarp::net {

/// Records that this layer owns `fd`.
void remember(int fd) noexcept;
/// Call before closing `fd` or giving it away. Returns false if close_inherited() has already
/// closed `fd`.
bool forget(int fd) noexcept;
/// Returns the number of descriptors that this process has open, whether this layer or the
/// application opened them. `newest` is the descriptor that was opened last, or -1. Before
/// Linux 6.2 the number is that of known_descriptors().
std::size_t open_descriptors(int newest) noexcept;
/// Returns the same number without the application's descriptors above `newest`.
std::size_t known_descriptors(int newest) noexcept;

}  // namespace iwarp::net
