// SPDX-License-Identifier: Apache-2.0
// Descriptors of this layer in the child of a fork.
#pragma once

namespace iwarp::net {

/// In the child of a fork: closes all sockets and event descriptors that this layer has opened in
/// the parent, without sending anything to the peers, so that the parent's connections end when the
/// parent ends them. May be called from a handler of pthread_atfork(): takes no lock and allocates
/// nothing. The child must not use the parent's objects; destroying them closes nothing. The
/// descriptors that wake the parent's workers stay open, three for each; they hold no connection. A
/// descriptor that another thread is just opening or accepting during the fork stays open, too.
void close_inherited() noexcept;

}  // namespace iwarp::net
