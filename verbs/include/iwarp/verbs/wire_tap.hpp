// SPDX-License-Identifier: Apache-2.0
// WireTap: sees every octet of a connection, both ways, in stream order, exactly as TCP carries it.
#pragma once

#include <memory>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup_types.hpp"

namespace iwarp::verbs {

class LocalObserver;  // see local_event.hpp

/// Observer of one connection's octet stream. Calls are made under the connection's lock, one at a
/// time, and must not call back into the connection.
class WireTap {
 public:
  virtual ~WireTap() = default;
  /// Octets were sent (`outbound`) or received. The view is valid during the call only.
  virtual void octets(bool outbound, bytes::View octets, mpa::TimePoint now) = 0;
  /// One direction was closed (FIN), or the connection was reset (`reset`): by this end
  /// (`outbound`) or by the peer.
  virtual void closed(bool outbound, bool reset, mpa::TimePoint now) = 0;
  /// Returns the observer of everything that this end does beside sending octets, or null. Called
  /// once, when the connection is made; with null, observation costs nothing.
  virtual std::shared_ptr<LocalObserver> observer() { return nullptr; }
};

}  // namespace iwarp::verbs
