// SPDX-License-Identifier: Apache-2.0
// close_inherited(): closes the descriptors of this layer in the child of a fork.
#pragma once

namespace iwarp::net {

/// Call in the child of a fork. Closes all sockets and event descriptors that this layer has opened
/// in the parent, without sending anything to the peers. The parent's connections then end only
/// when the parent ends them. Takes no lock and allocates nothing, so a handler of pthread_atfork()
/// may call it. The child must not use the parent's objects; destroying them closes no descriptor.
/// Two kinds of descriptors stay open. Each worker of the parent has three descriptors that wake
/// the worker; these keep no connection open. A descriptor that another thread is opening or
/// accepting at the moment of the fork also stays open.
void close_inherited() noexcept;

}  // namespace iwarp::net
