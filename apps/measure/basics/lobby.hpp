// SPDX-License-Identifier: Apache-2.0
// Lobby: holds the clients of a server that serves one client at a time, until they have sent their
// plan. A silent client therefore delays no other client.
#pragma once

#include <deque>

#include "measure/basics/control.hpp"

namespace iwarp::apps::measure {

class Lobby {
 public:
  /// Maximum number of clients that wait. A further client evicts the oldest.
  static constexpr std::size_t kMost = 64;

  explicit Lobby(const net::Address& at) : listener_(at) {}
  std::uint16_t port() const { return listener_.port(); }
  /// Waits for a client whose first line has arrived, and returns its connection. Throws Error if
  /// the server cannot accept, or Interrupted on a stop signal.
  Control next();

 private:
  Listener listener_;
  std::deque<Control> waiting_;  ///< the oldest client first
};

}  // namespace iwarp::apps::measure
