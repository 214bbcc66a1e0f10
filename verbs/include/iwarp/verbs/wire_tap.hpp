// SPDX-License-Identifier: Apache-2.0
// WireTap: sees every octet of a connection, both ways, in stream order, exactly as TCP carries it.
#pragma once

#include <memory>

#include "iwarp/bytes/view.hpp"
#include "iwarp/mpa/startup.hpp"
#include "iwarp/verbs/local_event.hpp"

namespace iwarp::verbs {

class WireTap {
 public:
  virtual ~WireTap() = default;
  /// Octets that were sent (`outbound`) or received. The view is valid during the call. Called
  /// under the connection's lock; must not call back into it.
  virtual void octets(bool outbound, bytes::View octets, mpa::TimePoint now) = 0;
  /// FIN (`reset` false) or reset, seen (`outbound` false) or made.
  virtual void closed(bool outbound, bool reset, mpa::TimePoint now) = 0;
  /// Who is to be told what else this end does; asked once, when the connection is made. Null:
  /// nobody, and then none of it costs anything.
  virtual std::shared_ptr<LocalObserver> observer() { return nullptr; }
};

}  // namespace iwarp::verbs
