// SPDX-License-Identifier: Apache-2.0
// DrivenConnection: its counters of octets and calls, the outcome of its set-up, and its incidents.
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
