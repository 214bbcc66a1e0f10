// SPDX-License-Identifier: Apache-2.0
// How a driven connection uses its carrier. These functions send and read the octets that the
// carrier has buffered, because the socket does not report such octets. They also close the carrier
// before TCP. driven_io.cpp sends and receives messages through the carrier.
#include <cerrno>

#include "driver/driven_active.hpp"
#include "driver/driven_connection.hpp"
#include "driver/lingering_close.hpp"

namespace iwarp::net {

const Carrier* DrivenConnection::carrier() const { return active_->carrier.get(); }

// After the carrier has been set up, a loss of TCP does not count as a failure of the carrier. The
// loss is reported in the same way as on a connection without a carrier.
const CarrierFailure* DrivenConnection::carrier_failure() const {
  const Carrier* const carrier = active_->carrier.get();
  const CarrierFailure* const out = carrier != nullptr ? carrier->failure() : nullptr;
  const bool was_set_up = out != nullptr && !carrier->peer_identity().empty();
  return was_set_up && out->cut_short ? nullptr : out;
}

// Enters or leaves kBuffered. Call after lift_hold().
void DrivenConnection::update_buffered() {
  const bool holds = active_->carrier->holds_input();
  if (input() == InputState::kReads && holds) step(InputEvent::kBuffer);
  if (input() == InputState::kBuffered && !holds) step(InputEvent::kDrain);
}

// Sends the carrier's pending output. Returns false if some of it has not been sent.
bool DrivenConnection::flush_carrier() {
  Active& a = *active_;
  if (output() == OutputState::kIdle && a.carrier->holds_output()) {
    const auto n = a.carrier->send({});
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
      while (receive()) {
      }
      socket_failed();
      return false;
    }
    if (a.carrier->holds_output()) step(OutputEvent::kFull);
  }
  return !a.carrier->holds_output();
}

// Half-closes the carrier. Returns false if the carrier's close message has not been sent yet.
bool DrivenConnection::close_carrier() {
  active_->carrier->close();
  return flush_carrier() || input() == InputState::kEnded;
}

// Closes the carrier before the socket. The carrier's close message follows all accepted octets, so
// that the peer can distinguish an orderly end from a loss of TCP.
void DrivenConnection::leave_carrier(Close how) {
  Active& a = *active_;
  if (how == Close::kReset) return;
  a.carrier->close();
  (void)a.carrier->send({});
  if (how == Close::kPlain) {
    // Unread octets would make TCP reset the connection and discard the last output of the carrier.
    LingeringClose::finish(std::move(a.socket));
    return;
  }
  auto rest = a.carrier->take_output();
  if (input() == InputState::kEnded && rest.empty()) return;
  LingeringClose::start(worker_, std::move(a.socket), a.close_timeout, std::move(rest));
}

}  // namespace iwarp::net
