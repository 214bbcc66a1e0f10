// SPDX-License-Identifier: Apache-2.0
// What a fork copies and must not be shared: the descriptors of this layer.
#pragma once

namespace iwarp::net {

/// In the child of a fork: closes all sockets and event descriptors that this layer had opened in
/// the parent, without a word to their peers. The parent's connections go on, and end when the
/// parent ends them. May be called from a handler of pthread_atfork(): takes no lock and no memory.
/// The parent's objects must not be used in the child; who destroys them all the same closes
/// nothing. What stays open are the descriptors that wake the parent's workers, three for each;
/// they hold no connection.
/// A descriptor that another thread was just opening or accepting at the time of the fork is
/// missed.
void close_inherited() noexcept;

}  // namespace iwarp::net
