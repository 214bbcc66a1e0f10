// SPDX-License-Identifier: Apache-2.0
// The clients of a DrivenConnection for initiators and responders, the request that an application
// accepts or rejects, and the sentences that describe failures of set-ups.
#include "setup/cm.hpp"

#include <fmt/format.h>

#include "iwarp/net/connect_advice.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

using Type = verbs::ConnectionEvent::Type;
using verbs::Errc;

std::vector<std::byte> copy(bytes::View view) { return {view.begin(), view.end()}; }

std::string identity_of(const DrivenConnection& connection) {
  return connection.carrier() != nullptr ? connection.carrier()->peer_identity() : std::string();
}

class Request final : public ConnectRequest {
 public:
  Request(Claims& claims, CmChannel& channel, std::shared_ptr<DrivenConnection> connection,
          const mpa::Startup& startup)
      : claims_(claims),
        channel_(channel),
        connection_(std::move(connection)),
        private_data_(copy(startup.peer_private_data())) {}
  ~Request() override {
    if (!decided_) (void)connection_->reject({});
  }

  const Address& peer() const override { return connection_->peer(); }
  const Address& local() const override { return connection_->local(); }
  const std::vector<std::byte>& private_data() const override { return private_data_; }
  bool peer_waits() const override { return !decided_ && connection_->peer_waits(); }
  void set_recognized() override { standing_ = PeerStanding::kRecognized; }
  std::error_code accept(verbs::QueuePair& qp, std::uint16_t ird, std::uint16_t ord,
                         const std::vector<std::byte>& private_data) override;
  std::error_code reject(const std::vector<std::byte>& private_data) override {
    return reject(private_data, nullptr);
  }
  std::error_code reject_and_keep(UniqueFd& socket,
                                  const std::vector<std::byte>& private_data) override {
    return reject(private_data, &socket);
  }
  void drop() override;

 private:
  std::error_code reject(const std::vector<std::byte>& private_data, UniqueFd* keep);

  Claims& claims_;
  CmChannel& channel_;
  const std::shared_ptr<DrivenConnection> connection_;
  const std::vector<std::byte> private_data_;
  PeerStanding standing_ = PeerStanding::kUnknown;
  bool decided_ = false;
};

std::error_code Request::accept(verbs::QueuePair& qp, std::uint16_t ird, std::uint16_t ord,
                                const std::vector<std::byte>& private_data) {
  if (decided_) return make_error_code(Errc::kWrongState);
  if (connection_->ended()) return make_error_code(Errc::kConnectionReset);
  if (ird > mpa::kMaxReads || ord > mpa::kMaxReads) {
    return make_error_code(Errc::kOrdTooLarge);  // [VRB-24]
  }
  if (const auto error = claims_.claim(qp, channel_)) return error;
  // Attach the connection before accepting it, so that a thread that destroys the queue pair finds
  // the connection and ends it.
  try {
    claims_.attach(qp, connection_);
  } catch (const std::bad_alloc&) {
    claims_.release(qp);
    return make_error_code(std::errc::not_enough_memory);
  }
  const auto error = connection_->accept(qp, private_data, ird, ord, standing_);
  if (error) claims_.release(qp);
  decided_ = !error || error == Errc::kConnectionReset;
  return error;
}

std::error_code Request::reject(const std::vector<std::byte>& private_data, UniqueFd* keep) {
  if (decided_) return make_error_code(Errc::kWrongState);
  const auto error = connection_->reject(private_data, keep);
  decided_ = error != Errc::kPrivateDataTooLong && error != Errc::kInvalidArgument;
  return error;
}

void Request::drop() {
  if (!decided_) connection_->end();
  decided_ = true;
}

// Returns whether connecting again may succeed. A failure of the carrier, for example a bad
// certificate, is permanent.
bool may_retry(const DrivenConnection& connection) {
  const auto* const failed = connection.carrier_failure();
  return failed == nullptr || failed->cut_short;
}

Errc errc_of(const mpa::Failure& failure) {
  if (failure.speaks_tls) return Errc::kCarrierFailed;
  if (failure.timed_out) return Errc::kTimedOut;
  if (failure.fault == mpa::kTcpLost) return Errc::kConnectionReset;
  return Errc::kMpaProtocol;
}

CmEvent about(CmEvent::Type type, const DrivenConnection& connection) {
  CmEvent out;
  out.type = type;
  out.qp = connection.qp();
  out.qp_num = out.qp != nullptr ? out.qp->num() : 0;
  out.local = connection.local();
  out.peer = connection.peer();
  return out;
}

// Returns the event that reports the end of a connection: the event that `describe` returns or, if
// memory runs out, an event without a description. The end must always be reported.
template <typename Describe>
CmEvent described(const DrivenConnection& connection, bool established, Describe describe) {
  try {
    return describe();
  } catch (const std::bad_alloc&) {
    CmEvent out;
    out.type = established ? CmEvent::Type::kDisconnected : CmEvent::Type::kConnectFailed;
    if (!established) out.error = make_error_code(Errc::kSystem);
    out.qp = connection.qp();
    out.qp_num = out.qp->num();
    return out;
  }
}

CmEvent failed_without_memory(const DrivenConnection& connection) {
  auto out = about(CmEvent::Type::kConnectFailed, connection);
  out.error = make_error_code(Errc::kSystem);
  out.why =
      fmt::format("not enough memory for the connection with {}", to_string(connection.peer()));
  return out;
}

}  // namespace

CmEvent disconnected(const DrivenConnection& connection, const verbs::StreamEnd& end) {
  auto out = about(CmEvent::Type::kDisconnected, connection);
  out.end = end;
  out.why = fmt::format("connection with {} ended: {}", to_string(connection.peer()),
                        verbs::describe(*out.end));
  return out;
}

void InitiatorClient::happened(DrivenConnection& connection, const verbs::Connection& core,
                               const verbs::ConnectionEvent& event) {
  if (end_.empty() || event.type == Type::kRequest || event.type == Type::kMemoryGone) return;
  if (event.type == Type::kEstablished) {
    auto out = about(CmEvent::Type::kEstablished, connection);
    out.peer_identity = identity_of(connection);
    out.private_data = copy(core.startup().peer_private_data());  // [MPA-95]
    out.offer = core.startup().peer_offer();                      // [EMPA-25]
    ChannelPort::push(channel_, std::move(out));
    established_ = true;
    return;
  }
  if (event.type == Type::kFailed && may_retry(connection) && retry_ && retry_(*event.failure)) {
    return end_.clear();
  }
  end_.front() =
      described(connection, established_, [&] { return describe_end(connection, core, event); });
  // Release the queue pair before the application gets the event, so that the application can
  // connect it again at once.
  claims_.release(*connection.qp());
  ChannelPort::push_made(channel_, end_);
}

CmEvent InitiatorClient::describe_end(DrivenConnection& connection, const verbs::Connection& core,
                                      const verbs::ConnectionEvent& event) const {
  if (event.type == Type::kDisconnected) {
    return established_ ? disconnected(connection, core.end()) : failed_without_memory(connection);
  }
  if (event.type == Type::kFailed) {
    auto out = startup_failed(connection, *event.failure);
    if (out.error == Errc::kConnectionReset && private_octets_ > mpa::kPortablePrivateData) {
      out.why +=
          fmt::format(" (the Request has {} octets of private data; some peers accept at most {})",
                      private_octets_, mpa::kPortablePrivateData);
    }
    return out;
  }
  auto out = about(CmEvent::Type::kRejected, connection);
  out.error = make_error_code(Errc::kRejected);
  out.why = fmt::format("{} rejected the connection", to_string(connection.peer()));
  out.read_ahead = copy(core.read_ahead());
  out.private_data = copy(core.startup().peer_private_data());  // [MPA-91]
  out.offer = core.startup().peer_offer();                      // [EMPA-25]
  out.socket = connection.leave();                              // [MPA-91]
  return out;
}

void ResponderClient::request(DrivenConnection& connection, const mpa::Startup& startup) {
  if (!has_room(connection.local().port)) return connection.refuse(SetupFailure::kBacklogFull);
  MadeEvent<CmEvent> made(1);
  CmEvent& out = made.front();
  out = about(CmEvent::Type::kConnectRequest, connection);
  out.offer = startup.peer_offer();  // [EMPA-16]
  out.private_data = copy(startup.peer_private_data());
  out.peer_identity = identity_of(connection);
  // After the next statement, no step may fail. If one threw an exception, the Request would be
  // destroyed, and its destructor would reject the peer. To do that, the destructor waits for the
  // connection's lock, which this thread already holds.
  out.request = std::make_unique<Request>(claims_, channel_, connection.shared(), startup);
  pending_.request_arrived();
  ChannelPort::push_made(channel_, made);
}

void ResponderClient::happened(DrivenConnection& connection, const verbs::Connection& core,
                               const verbs::ConnectionEvent& event) {
  verbs::QueuePair* const qp = connection.qp();
  if (end_.empty()) return;
  if (event.type == Type::kRequest) return request(connection, core.startup());
  pending_.over();
  // No event reports a failure that happens before the application has accepted the request;
  // accept() returns that failure.
  if (qp == nullptr) return;
  if (event.type == Type::kEstablished) {
    ChannelPort::push(channel_, about(CmEvent::Type::kEstablished, connection));
    established_ = true;
    return;
  }
  if (event.type == Type::kMemoryGone || event.type == Type::kRejected) return;
  end_.front() = described(connection, established_, [&] {
    if (event.type != Type::kDisconnected) return startup_failed(connection, *event.failure);
    return established_ ? disconnected(connection, core.end()) : failed_without_memory(connection);
  });
  claims_.release(*qp);
  ChannelPort::push_made(channel_, end_);
}

void ResponderClient::setup_failed(const DrivenConnection& connection, SetupFailure reason,
                                   std::string_view why) noexcept {
  if (!failed_ || reason == SetupFailure::kAbandoned) return;
  try {
    failed_(connection.peer(), reason, std::string(why));
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): only the report is lost
  }
}

// Returns whether the backlog of the port has room. A request whose peer has closed the connection
// counts as well, because it stays on the channel until the application polls it.
bool ResponderClient::has_room(std::uint16_t port) {
  return ChannelPort::count(channel_, [port](const CmEvent& event) {
           return event.type == CmEvent::Type::kConnectRequest && event.local.port == port;
         }) < backlog_;
}

CmEvent startup_failed(const DrivenConnection& connection, const mpa::Failure& failure) {
  auto out = about(CmEvent::Type::kConnectFailed, connection);
  const auto peer = to_string(connection.peer());
  out.error = make_error_code(errc_of(failure));
  if (const auto* failed = connection.carrier_failure()) {
    out.error = make_error_code(Errc::kCarrierFailed);
    out.why = failed->why;
    return out;
  }
  out.why = failure.timed_out
                ? fmt::format("{} did not finish the MPA startup in time", peer)
                : fmt::format("MPA startup with {} failed: {}", peer, failure.fault.why);
  return out;
}

CmEvent connect_failed(std::string_view what, const std::error_code& error) {
  CmEvent out;
  out.type = CmEvent::Type::kConnectFailed;
  out.error = to_errc(error);
  out.why = fmt::format("{}: {}{}", what, error.message(), connect_advice(error));
  return out;
}

}  // namespace iwarp::net
