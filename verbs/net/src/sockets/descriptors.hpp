// SPDX-License-Identifier: Apache-2.0
// The set of descriptors that this layer has open, for the child of a fork to close.
#pragma once

namespace iwarp::net {

/// Records that this layer owns `fd`.
void remember(int fd) noexcept;
/// Call before closing `fd` or giving it away. Returns false if close_inherited() has closed it.
bool forget(int fd) noexcept;

}  // namespace iwarp::net
