// SPDX-License-Identifier: Apache-2.0
// From what happens to a connection to what the program hears of it.
#include "cm.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace iwarp::net {
namespace {

using Type = verbs::ConnectionEvent::Type;
using verbs::Errc;

std::vector<std::byte> copy(bytes::View view) { return {view.begin(), view.end()}; }

class Request final : public ConnectRequest {
 public:
  Request(Claims& claims, CmChannel& channel, std::shared_ptr<DrivenConnection> connection,
          const mpa::Startup& startup)
      : claims_(claims),
        channel_(channel),
        connection_(std::move(connection)),
        private_data_(copy(startup.peer_private_data())),
        offer_(*startup.peer_offer()) {}
  ~Request() override {
    if (!decided_) (void)connection_->reject({});
  }

  const Address& peer() const override { return connection_->peer(); }
  const Address& local() const override { return connection_->local(); }
  const std::vector<std::byte>& private_data() const override { return private_data_; }
  const mpa::PeerOffer& offer() const override { return offer_; }
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
  const mpa::PeerOffer offer_;
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
  // First known, then connected: who destroys the queue pair finds what to end.
  claims_.attach(qp, connection_);
  const auto error = connection_->accept(qp, private_data, ird, ord);
  if (error) claims_.release(qp);
  decided_ = !error || error == Errc::kConnectionReset;
  return error;
}

std::error_code Request::reject(const std::vector<std::byte>& private_data, UniqueFd* keep) {
  if (decided_) return make_error_code(Errc::kWrongState);
  const auto error = connection_->reject(private_data, keep);
  decided_ = error != Errc::kPrivateDataTooLong;
  return error;
}

void Request::drop() {
  if (!decided_) connection_->end();
  decided_ = true;
}

Errc errc_of(const mpa::Failure& failure) {
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

CmEvent disconnected(const DrivenConnection& connection) {
  auto out = about(CmEvent::Type::kDisconnected, connection);
  out.why = fmt::format("the connection with {} is over", to_string(connection.peer()));
  return out;
}

}  // namespace

void InitiatorClient::happened(DrivenConnection& connection, const verbs::Connection& core,
                               const verbs::ConnectionEvent& event) {
  verbs::QueuePair* const qp = connection.qp();
  const mpa::Startup& startup = core.startup();
  CmEvent out;
  switch (event.type) {
    case Type::kRequest:
      return;
    case Type::kEstablished:
      out = about(CmEvent::Type::kEstablished, connection);
      break;
    case Type::kRejected:
      out = about(CmEvent::Type::kRejected, connection);
      out.error = make_error_code(Errc::kRejected);
      out.why = fmt::format("{} rejected the connection", to_string(connection.peer()));
      out.socket = connection.leave();  // [MPA-91]
      out.read_ahead = copy(core.read_ahead());
      break;
    case Type::kFailed:
      if (retry_ && retry_(*event.failure)) return;
      out = startup_failed(connection, *event.failure);
      if (out.error == Errc::kConnectionReset && private_octets_ > mpa::kPortablePrivateData) {
        out.why += fmt::format(" (with {} octets of private data; some peers take no more than {})",
                               private_octets_, mpa::kPortablePrivateData);
      }
      break;
    case Type::kDisconnected:
      out = disconnected(connection);
      break;
  }
  if (event.type == Type::kEstablished || event.type == Type::kRejected) {
    out.private_data = copy(startup.peer_private_data());  // [MPA-91] [MPA-95]
    out.offer = startup.peer_offer();                      // [EMPA-25]
  }
  // Before the program hears of it, so that it can connect again at once.
  if (event.type != Type::kEstablished) claims_.release(*qp);
  channel_->push(std::move(out));
}

void ResponderClient::happened(DrivenConnection& connection, const verbs::Connection& core,
                               const verbs::ConnectionEvent& event) {
  verbs::QueuePair* const qp = connection.qp();
  if (event.type == Type::kRequest) {
    auto out = about(CmEvent::Type::kConnectRequest, connection);
    out.request =
        std::make_unique<Request>(claims_, *channel_, connection.shared(), core.startup());
    out.offer = core.startup().peer_offer();  // [EMPA-16]
    out.private_data = out.request->private_data();
    channel_->push(std::move(out));
    return;
  }
  pending_.release();
  // A peer that fails before the program accepted it is of no interest: accept() will say it.
  if (qp == nullptr) return;
  if (event.type == Type::kEstablished) {
    channel_->push(about(CmEvent::Type::kEstablished, connection));
    return;
  }
  claims_.release(*qp);
  if (event.type == Type::kDisconnected) {
    channel_->push(disconnected(connection));
  } else if (event.failure) {
    channel_->push(startup_failed(connection, *event.failure));
  }
}

CmEvent startup_failed(const DrivenConnection& connection, const mpa::Failure& failure) {
  auto out = about(CmEvent::Type::kConnectFailed, connection);
  const auto peer = to_string(connection.peer());
  out.error = make_error_code(errc_of(failure));
  out.why = failure.timed_out
                ? fmt::format("{} did not finish the MPA startup in time", peer)
                : fmt::format("MPA startup with {} failed: {}", peer, failure.fault.why);
  return out;
}

CmEvent connect_failed(const std::string& what, const std::error_code& error) {
  CmEvent out;
  out.type = CmEvent::Type::kConnectFailed;
  out.error = to_errc(error);
  out.why = fmt::format("{}: {}", what, error.message());
  return out;
}

std::error_code to_errc(const std::error_code& error) {
  if (error.category() == verbs::verbs_category()) return error;
  if (error.category() != std::generic_category() && error.category() != std::system_category()) {
    return make_error_code(Errc::kAddressInvalid);  // the resolver's
  }
  switch (error.value()) {
    case ECONNREFUSED:
      return make_error_code(Errc::kConnectionRefused);
    case ECONNRESET:
    case EPIPE:
      return make_error_code(Errc::kConnectionReset);
    case ETIMEDOUT:
      return make_error_code(Errc::kTimedOut);
    case EADDRINUSE:
      return make_error_code(Errc::kAddressInUse);
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case EINVAL:
      return make_error_code(Errc::kAddressInvalid);
    default:
      return make_error_code(Errc::kSystem);
  }
}

}  // namespace iwarp::net
