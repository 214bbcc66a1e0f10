// SPDX-License-Identifier: Apache-2.0
// WireTap: sees every octet that a connection sends or receives, in stream order, exactly as TCP
// carries it.
#pragma once

#include <memory>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup_types.hpp"

namespace iwarp::verbs {

class LocalObserver;  // see local_event.hpp

/// Observer of one connection's octet stream. Its functions are called under the connection's lock,
/// one at a time, and must not call back into the connection.
class WireTap {
 public:
  virtual ~WireTap() = default;
  /// Reports octets that were sent (`outbound`) or received. `octets` is valid during the call
  /// only.
  virtual void octets(bool outbound, bytes::View octets, mpa::TimePoint now) = 0;
  /// Reports that this end (`outbound`) or the peer closed its direction (FIN) or reset the
  /// connection (`reset`).
  virtual void closed(bool outbound, bool reset, mpa::TimePoint now) = 0;
  /// Returns the observer of the LocalEvents of this end, or null. Called once, when the connection
  /// is made. If it returns null, observation has no cost.
  virtual std::shared_ptr<LocalObserver> observer() { return nullptr; }
};

}  // namespace iwarp::verbs
