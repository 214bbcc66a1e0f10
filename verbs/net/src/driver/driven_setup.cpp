// SPDX-License-Identifier: Apache-2.0
// DrivenConnection: the functions called during set-up.
#include "driver/driven_active.hpp"
#include "driver/driven_connection.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {

using verbs::Errc;

bool DrivenConnection::start(bytes::View private_data) {
  bool ok = false;
  use([&](Active& a) {
    a.core.set_emss(effective_mss(a.socket.get()));
    ok = a.core.connect(private_data, mpa::Clock::now());
  });
  return ok;
}

void DrivenConnection::listen() {
  use([](Active& a) {
    a.core.set_emss(effective_mss(a.socket.get()));
    a.core.listen(mpa::Clock::now());
  });
}

std::error_code DrivenConnection::accept(verbs::QueuePair& qp, bytes::View private_data,
                                         std::uint16_t ird, std::uint16_t ord,
                                         PeerStanding standing) {
  std::error_code out = Errc::kConnectionReset;
  const bool whole = use([&](Active& a) {
    if (a.core.startup().state() != mpa::StartupState::kAwaitDecision) return;
    out.clear();
    serve(qp);  // before a.core.accept(), whose events refer to qp_
    if (!a.core.accept(qp, private_data, ird, ord, mpa::Clock::now())) {
      qp_ = nullptr;
      out = Errc::kPrivateDataTooLong;
    } else if (standing == PeerStanding::kUnknown && a.core.awaits_peer() && a.client != nullptr) {
      a.client->awaits_rtr();
    }
  });
  // If memory ran out after qp_ was set, an event reports the failure. Otherwise return an error.
  return whole || out ? out : make_error_code(Errc::kConnectionReset);
}

bool DrivenConnection::peer_waits() {
  return locked([this] {
    return active_ != nullptr && input() != InputState::kEnded &&
           active_->core.startup().state() == mpa::StartupState::kAwaitDecision &&
           !is_closed(active_->socket.get());
  });
}

std::error_code DrivenConnection::reject(bytes::View private_data, UniqueFd* keep) {
  std::error_code out = Errc::kConnectionReset;
  const bool whole = use([&](Active& a) {
    if (a.core.startup().state() != mpa::StartupState::kAwaitDecision) return;
    if (keep != nullptr && a.carrier != nullptr) {
      out = Errc::kInvalidArgument;
    } else if (!a.core.reject(private_data, mpa::Clock::now())) {
      out = Errc::kPrivateDataTooLong;
    } else {
      out.clear();
      fail_setup(SetupFailure::kRejected);
    }
    if (out || keep == nullptr) return;
    transmit();
    *keep = leave();
    if (!*keep) {
      const bool is_over = input() == InputState::kEnded;
      out = is_over ? Errc::kConnectionReset : Errc::kBusy;
    }
  });
  return whole ? out : make_error_code(Errc::kConnectionReset);
}

UniqueFd DrivenConnection::leave() {
  Active& a = *active_;
  if (a.carrier != nullptr || input() == InputState::kEnded) return {};
  if (!a.core.transmit_plan(1, mpa::Clock::now()).empty()) return {};
  a.waits->release();
  watched_.close();
  return std::move(a.socket);
}

}  // namespace iwarp::net
