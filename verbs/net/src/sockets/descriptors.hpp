// SPDX-License-Identifier: Apache-2.0
// The set of descriptors that this layer has open, for the child of a fork to close.
#pragma once

namespace iwarp::net {

/// `fd` was opened and is ours.
void remember(int fd) noexcept;
/// `fd` is about to be closed, or to belong to somebody else. False: it is closed already.
bool forget(int fd) noexcept;

}  // namespace iwarp::net
