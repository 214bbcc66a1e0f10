// SPDX-License-Identifier: Apache-2.0
// DrivenConnection: the functions called during set-up, the outcome of the set-up, and the counters
// and incidents of the connection.
#include "driver/driven_active.hpp"
#include "driver/driven_connection.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

SetupFailure reason_of(const mpa::Failure& failure) {
  if (failure.speaks_tls) return SetupFailure::kCarrier;
  if (failure.timed_out) return SetupFailure::kTimedOut;
  return failure.fault == mpa::kTcpLost ? SetupFailure::kReset : SetupFailure::kProtocol;
}

}  // namespace

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

verbs::Counters DrivenConnection::counters() {
  return locked([this] { return count(); });
}

// Another thread may already have completed a request with an error, but not yet have recorded the
// end of the stream. sync() waits for that thread.
std::optional<verbs::StreamEnd> DrivenConnection::stream_end() {
  sync();
  return locked([this]() -> std::optional<verbs::StreamEnd> {
    const bool has_ended =
        active_ != nullptr && active_->core.end().cause != verbs::StreamEnd::Cause::kNone;
    return has_ended ? std::optional(active_->core.end()) : std::nullopt;
  });
}

std::optional<ConnectionStatistics> DrivenConnection::statistics() {
  return locked([this]() -> std::optional<ConnectionStatistics> {
    if (!setup_.is_established()) return std::nullopt;
    const bool open = active_ != nullptr;  // if not open, the queue pair may have been destroyed
    return ConnectionStatistics{.qp = open ? qp_->num() : 0,
                                .device = device_ != nullptr ? device_ : "",
                                .is_outgoing = is_outgoing_,
                                .local = local_,
                                .peer = peer_,
                                .congestion = open ? congestion_of(active_->socket.get()) : "",
                                .counters = count(),
                                .incidents = open ? active_->core.incidents() : final_incidents_};
  });
}

void DrivenConnection::refuse(SetupFailure why) {
  setup_.blame(why);
  abort();
}

void DrivenConnection::tell(const verbs::ConnectionEvent& event) {
  using Type = verbs::ConnectionEvent::Type;
  if (event.type == Type::kEstablished) setup_.established();
  if (event.type == Type::kRejected) fail_setup(SetupFailure::kRejected);
  if (event.type == Type::kFailed) {
    const auto* const carrier = carrier_failure();
    if (carrier == nullptr) {
      fail_setup(reason_of(*event.failure), event.failure->fault.why);
    } else {
      // A client that only closes TCP may have done so for any reason.
      const bool by_tcp = carrier->cut_short && !is_outgoing_;
      fail_setup(by_tcp ? SetupFailure::kReset : SetupFailure::kCarrier, carrier->why);
    }
  }
  if (active_->client != nullptr) active_->client->happened(*this, active_->core, event);
}

void DrivenConnection::fail_setup(SetupFailure why, std::string_view text) {
  const auto reason = setup_.failed(why);
  if (!reason || active_->client == nullptr) return;
  active_->client->setup_failed(*this, *reason,
                                *reason == why && !text.empty() ? text : meaning(*reason));
}

verbs::Counters DrivenConnection::count() const {
  if (active_ == nullptr) return final_;
  auto out = active_->core.counters();
  out.send_calls = active_->send_calls;
  out.receive_calls = active_->receive_calls;
  out.wakeups = active_->wakeups;
  out.wait_calls = active_->wakeups + active_->wait_calls;
  return out;
}

}  // namespace iwarp::net
