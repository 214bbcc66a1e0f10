// SPDX-License-Identifier: Apache-2.0
// Latitude: the order in which a connection accesses memory of the application, where RFC 5040
// leaves it open. Tests of programs use it to make every permitted order happen. Without a
// Latitude, a connection accesses memory in the order of the stream.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "iwarp/bytes/view.hpp"
#include "iwarp/verbs/region.hpp"

namespace iwarp::verbs {

/// The choices of one connection. Called with the connection's lock held, inside bytes::guarded().
/// No function throws anything but std::bad_alloc.
class Latitude {
 public:
  virtual ~Latitude() = default;
  /// Takes the payload of a segment of an RDMA Write, and copies it to `target` at any time before
  /// place_all() returns, or before the Latitude is destroyed. [RDMAP-65] [RDMAP-66]
  virtual void place_later(Grant target, std::vector<std::byte> payload) = 0;
  /// Copies all payload that place_later() has taken. Called when the peer may rely on it: before a
  /// message consumes a receive, and before a Read or an atomic of the peer is executed.
  virtual void place_all() = 0;
  /// Copies `from`, which may be memory of the application, to `to`, which has the same size, in
  /// any order. Returns after all octets have been copied.
  virtual void copy(bytes::View from, bytes::Span to) = 0;
  /// Returns whether a Read whose response has arrived may wait for the response of the next Read,
  /// which is outstanding. The data of both then appears in any order.
  virtual bool delays_read() = 0;
  /// Returns whether the peer's next request, which is a Read or an atomic, is executed before the
  /// Read that precedes it. The responses keep their order. [RDMAP-78]
  virtual bool overtakes_read(bool is_read) = 0;
  /// Replaces the word `at` by `next(word)`, atomically only with respect to other calls of this
  /// function in the process. Returns the former value. [EXT-42]
  virtual std::uint64_t change(std::byte* at,
                               const std::function<std::uint64_t(std::uint64_t)>& next) = 0;
};

}  // namespace iwarp::verbs
