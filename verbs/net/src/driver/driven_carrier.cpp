// SPDX-License-Identifier: Apache-2.0
// What a driven connection does for its carrier besides the two calls: what that holds leaves and
// is read although the socket does not ask for it, and its end goes before TCP's.
#include <cerrno>

#include "driver/driven_active.hpp"
#include "driver/driven_connection.hpp"
#include "driver/lingering_close.hpp"

namespace iwarp::net {

const Carrier* DrivenConnection::carrier() const { return active_->carrier.get(); }

// That TCP is cut behind the carrier's set-up is what it is without one.
const CarrierFailure* DrivenConnection::carrier_failure() const {
  const Carrier* const carrier = active_->carrier.get();
  const CarrierFailure* const out = carrier != nullptr ? carrier->failure() : nullptr;
  const bool was_set_up = out != nullptr && !carrier->peer_identity().empty();
  return was_set_up && out->cut_short ? nullptr : out;
}

// The socket does not tell of it.
bool DrivenConnection::has_unread_input() const {
  const Active& a = *active_;
  return a.carrier->holds_input() && !a.end_of_stream && a.core.takes_octets();
}

// False: not all that the carrier holds has left.
bool DrivenConnection::flush_carrier() {
  Active& a = *active_;
  if (!a.write_blocked && a.carrier->holds_output()) {
    const auto n = a.carrier->send({});
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
      while (receive()) {
      }
      socket_failed();
      return false;
    }
    a.write_blocked = a.carrier->holds_output();
  }
  return !a.carrier->holds_output();
}

// False: the end of our half has not left yet.
bool DrivenConnection::close_carrier() {
  active_->carrier->close();
  return flush_carrier() || active_->end_of_stream;
}

// Its own end is behind all that was taken, so that the peer can tell an end from a cut.
void DrivenConnection::leave_carrier(Close how) {
  Active& a = *active_;
  if (how == Close::kReset) return;
  a.carrier->close();
  (void)a.carrier->send({});
  if (how == Close::kPlain) {
    // Octets left unread would make TCP forget what the carrier has said last.
    LingeringClose::finish(std::move(a.socket));
    return;
  }
  auto rest = a.carrier->take_output();
  if (a.end_of_stream && rest.empty()) return;
  LingeringClose::start(worker_, std::move(a.socket), a.close_timeout, std::move(rest));
}

}  // namespace iwarp::net
