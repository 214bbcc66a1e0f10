// SPDX-License-Identifier: Apache-2.0
// The connection manager's entry points: connect, listen, adopt.
#include <algorithm>

#include "iwarp/net/rnic.hpp"
#include "rnic_impl.hpp"
#include "sockets.hpp"

namespace iwarp::net {
namespace {

using verbs::Errc;

// More than the wire can say is refused, not cut. [VRB-24]
std::error_code check(const mpa::StartupOptions& startup) {
  const bool sayable = startup.ird <= mpa::kMaxReads && startup.ord <= mpa::kMaxReads;
  return sayable ? std::error_code() : make_error_code(Errc::kOrdTooLarge);
}

std::error_code check(const ConnectOptions& options) {
  const auto& startup = options.connection.startup;
  const std::size_t word = startup.revision >= 2 ? mpa::kEnhancedWordSize : 0;
  if (options.private_data.size() + word > mpa::kMaxPrivateData) {  // [MPA-80] [EMPA-10]
    return make_error_code(Errc::kPrivateDataTooLong);
  }
  return check(startup);
}

}  // namespace

std::shared_ptr<Connector> Rnic::Impl::make_connector(verbs::QueuePair& qp, const Address& to,
                                                      const ConnectOptions& connect_options,
                                                      CmChannel& channel) {
  auto connector =
      std::make_shared<Connector>(*this, *this, pick_worker(), qp, to, connect_options, channel);
  const std::lock_guard lock(mutex);
  qps.at(&qp).connector = connector;
  return connector;
}

std::error_code Rnic::connect(QueuePair& qp, const Address& to, const ConnectOptions& options,
                              CmChannel& channel) {
  if (const auto error = check(options)) return error;
  if (to.port == 0) return make_error_code(Errc::kAddressInvalid);
  if (const auto error = impl_->claim(qp, channel)) return error;
  impl_->make_connector(qp, to, options, channel)->start();
  return {};
}

Expected<CmEvent> Rnic::connect_wait(QueuePair& qp, const Address& to,
                                     const ConnectOptions& options, CmChannel& channel) {
  CmChannel outcome;
  if (const auto error = connect(qp, to, options, outcome)) return std::unexpected(error);
  auto event = outcome.wait(std::chrono::milliseconds(-1));
  impl_->move_events(qp, outcome, channel);
  return std::move(*event);
}

void Rnic::Impl::move_events(const verbs::QueuePair& qp, CmChannel& from, CmChannel& to) {
  std::vector<std::shared_ptr<DrivenConnection>> live_ones;
  {
    const std::lock_guard lock(mutex);
    QpRecord& record = qps.at(&qp);
    std::erase(record.channels, &from);
    if (std::find(record.channels.begin(), record.channels.end(), &to) == record.channels.end()) {
      record.channels.push_back(&to);
    }
    live_ones = record.connections;
  }
  for (const auto& connection : live_ones) connection->send_events_to(to);
  while (auto event = from.poll()) to.push(std::move(*event));
}

std::error_code Rnic::adopt_initiator(QueuePair& qp, int socket, const ConnectOptions& options,
                                      CmChannel& channel) {
  if (const auto error = check(options)) return error;
  if (!is_connected_tcp(socket)) return make_error_code(Errc::kInvalidArgument);
  if (const auto error = impl_->claim(qp, channel)) return error;
  auto error = prepare_connected(socket);
  if (!error) error = set_congestion(socket, options.congestion);
  if (error) {
    impl_->release(qp);
    return to_errc(error);
  }
  impl_->make_connector(qp, peer_address(socket), options, channel)->adopt(UniqueFd(socket));
  return {};
}

Expected<std::unique_ptr<Listener>> Rnic::listen(const Address& at, const ListenOptions& options,
                                                 CmChannel& channel) {
  auto socket = bind_tcp(at);
  if (!socket) return std::unexpected(socket.error());
  return listen(std::move(*socket), options, channel);
}

Expected<std::unique_ptr<Listener>> Rnic::listen(BoundSocket&& socket, const ListenOptions& options,
                                                 CmChannel& channel) {
  auto error = check(options.connection.startup);
  if (!error) error = set_congestion(socket.fd(), options.congestion);
  if (!error) error = start_listening(socket.fd(), options.backlog);
  if (error) return std::unexpected(to_errc(error));
  const Address local = socket.local();
  auto acceptor = std::make_shared<Acceptor>(*impl_, impl_->pick_worker(),
                                             UniqueFd(socket.release()), options, channel);
  acceptor->start();
  return std::make_unique<TcpListener>(std::move(acceptor), local);
}

std::error_code Rnic::adopt_responder(int socket, const ListenOptions& options,
                                      CmChannel& channel) {
  if (const auto error = check(options.connection.startup)) return error;
  if (!is_connected_tcp(socket)) return make_error_code(Errc::kInvalidArgument);
  auto error = prepare_connected(socket);
  if (!error) error = set_congestion(socket, options.congestion);
  if (error) return to_errc(error);
  UniqueFd owned(socket);
  if (impl_->respond(std::move(owned), options, channel) == nullptr) {
    return make_error_code(Errc::kLimitReached);
  }
  return {};
}

std::shared_ptr<DrivenConnection> Rnic::Impl::respond(UniqueFd socket,
                                                      const ListenOptions& listen_options,
                                                      CmChannel& channel) {
  PendingMark pending(pending_connects);
  if (pending_connects > options.max_pending_connects) {  // [SCTP-4]
    reset_on_close(socket.get());
    return nullptr;
  }
  const Address local = local_address(socket.get());
  const Address peer = peer_address(socket.get());
  auto connection = DrivenConnection::make(
      *this, pick_worker(),
      {.role = mpa::Role::kResponder,
       .socket = std::move(socket),
       .options = listen_options.connection,
       .tap = listen_options.tap ? listen_options.tap(local, peer, false) : nullptr,
       .client = std::make_unique<ResponderClient>(*this, channel, std::move(pending))});
  {
    const std::lock_guard lock(mutex);
    connections[connection.get()] = connection;
  }
  connection->listen();
  return connection;
}

}  // namespace iwarp::net
