// SPDX-License-Identifier: Apache-2.0
// The set of descriptors that this layer has open. The child of a fork closes them.
#pragma once

namespace iwarp::net {

/// Records that this layer owns `fd`.
void remember(int fd) noexcept;
/// Call before closing `fd` or giving it away. Returns false if close_inherited() has already
/// closed `fd`.
bool forget(int fd) noexcept;

}  // namespace iwarp::net
