// SPDX-License-Identifier: Apache-2.0
// Memory for the ring behind a queue, allocated when it is needed and kept. Programs often ask for
// a thousand times what they ever use, and a small ring stays in the cache.
#pragma once

#include <algorithm>
#include <boost/circular_buffer.hpp>
#include <new>

namespace iwarp::verbs {

/// False: there is no memory; nothing was changed.
template <typename T>
bool make_room(boost::circular_buffer<T>& ring) {
  constexpr std::size_t kFirst = 8;
  if (!ring.full()) return true;
  try {
    ring.set_capacity(std::max(kFirst, 2 * ring.capacity()));
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

}  // namespace iwarp::verbs
