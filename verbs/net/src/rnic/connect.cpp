// SPDX-License-Identifier: Apache-2.0
// Rnic: the functions that begin and end connections (connect, listen, adopt, cancel).
#include <algorithm>

#include "iwarp/net/channel_port.hpp"
#include "iwarp/net/rnic.hpp"
#include "rnic/impl.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

using verbs::Errc;

constexpr const char* kNoDescriptors =
    "too few file descriptors are free for another connection (raise ulimit -n)";

// Refuses IRD and ORD values that do not fit into the wire format, instead of truncating them.
// [VRB-24]
std::error_code check(const mpa::StartupOptions& startup) {
  const bool sayable = startup.ird <= mpa::kMaxReads && startup.ord <= mpa::kMaxReads;
  return sayable ? std::error_code() : make_error_code(Errc::kOrdTooLarge);
}

std::error_code check(const ConnectOptions& options) {
  if (private_octets(options) > mpa::kMaxPrivateData) {  // [MPA-80] [EMPA-10]
    return make_error_code(Errc::kPrivateDataTooLong);
  }
  return check(options.connection.startup);
}

}  // namespace

std::shared_ptr<Connector> Rnic::Impl::make_connector(verbs::QueuePair& qp, const Address& to,
                                                      const ConnectOptions& connect_options,
                                                      CmChannel& channel) {
  std::shared_ptr<Connector> connector;
  try {
    connector =
        std::make_shared<Connector>(*this, *this, pick_worker(), qp, to, connect_options, channel);
  } catch (...) {
    release(qp);
    throw;
  }
  const std::lock_guard lock(mutex);
  qps.at(&qp).connector = connector;
  return connector;
}

std::error_code Rnic::connect(QueuePair& qp, const Address& to, const ConnectOptions& options,
                              CmChannel& channel) {
  if (const auto error = check(options)) return error;
  if (to.port == 0) return make_error_code(Errc::kAddressInvalid);
  return with_resources([&] {
    const auto error = impl_->claim(qp, channel);
    if (!error) impl_->make_connector(qp, to, options, channel)->start();
    return error;
  });
}

void Rnic::cancel(QueuePair& qp) { impl_->cancel(qp); }

void Rnic::Impl::cancel(const verbs::QueuePair& qp) {
  QpRecord record;
  {
    const std::lock_guard lock(mutex);
    record = insist([&] { return qps.at(&qp); });
  }
  if (record.connector != nullptr) record.connector->cancel();
  // Read the list of connections after cancel(), because the connector may have attached a
  // connection just before cancel().
  const auto attached = insist([&] { return connections_of(qp); });
  for (const auto& connection : attached) connection->end();
  for (CmChannel* channel : record.channels) {
    ChannelPort::remove(*channel, [&qp](const CmEvent& event) { return event.qp == &qp; });
  }
  release(qp);
}

std::error_code Rnic::adopt_initiator(QueuePair& qp, int socket, const ConnectOptions& options,
                                      CmChannel& channel) {
  if (const auto error = check(options)) return error;
  if (!is_connected_tcp(socket)) return make_error_code(Errc::kInvalidArgument);
  return with_resources([&] {
    if (const auto wrong = impl_->claim(qp, channel)) return wrong;
    if (const auto error = prepare_connected(socket, options.congestion)) {
      impl_->release(qp);
      return to_errc(error);
    }
    UniqueFd owned(socket);
    const Address peer = peer_address(socket);
    impl_->make_connector(qp, peer, options, channel)->adopt(std::move(owned));
    return std::error_code();
  });
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
  return with_resources([&]() -> Expected<std::unique_ptr<Listener>> {
    auto acceptor = std::make_shared<Acceptor>(*impl_, impl_->pick_worker(), options, channel);
    auto listener = std::make_unique<TcpListener>(socket.local(), acceptor);
    acceptor->start(socket.release());
    return listener;
  });
}

std::error_code Rnic::adopt_responder(int socket, const ListenOptions& options,
                                      CmChannel& channel) {
  if (const auto error = check(options.connection.startup)) return error;
  if (!is_connected_tcp(socket)) return make_error_code(Errc::kInvalidArgument);
  if (const auto error = prepare_connected(socket, options.congestion)) return to_errc(error);
  UniqueFd owned(socket);
  return with_resources([&] {
    const Address peer = peer_address(owned.get());
    const bool begun = impl_->respond(std::move(owned), peer, options, channel) != nullptr;
    return begun ? std::error_code() : make_error_code(Errc::kLimitReached);
  });
}

bool Rnic::Impl::make_room() {
  ++accept_pauses;
  const auto missing = missing_descriptors(-1, options.reserved_descriptors);
  return setups.make_room(std::max<std::size_t>(missing, 1));
}

std::shared_ptr<DrivenConnection> Rnic::Impl::respond(UniqueFd socket, const Address& peer,
                                                      const ListenOptions& listen_options,
                                                      CmChannel& channel) {
  const Address local = local_address(socket.get());
  const auto missing = missing_descriptors(socket.get(), options.reserved_descriptors);
  auto pending = setups.admit({.source = source_of(peer),
                               .port = local.port,
                               .is_local = is_local(peer, local),
                               .to_evict = missing});
  std::unique_ptr<Carrier> carrier;
  if (listen_options.carrier != nullptr) {
    carrier = listen_options.carrier->make(CarrierSocket(socket.get()), {});
    if (carrier == nullptr) pending.reset();
  }
  if (!pending) {  // [SCTP-4]
    CountedSetup(passive_setups).failed(SetupFailure::kNoRoom);
    if (listen_options.setup_failed) {
      listen_options.setup_failed(peer, SetupFailure::kNoRoom,
                                  missing != 0 ? kNoDescriptors : meaning(SetupFailure::kNoRoom));
    }
    reset_on_close(socket.get());
    return nullptr;
  }
  const auto id = pending->id();
  auto connection = DrivenConnection::make(
      *this, pick_worker(),
      {.role = mpa::Role::kResponder,
       .socket = std::move(socket),
       .local = local,
       .peer = peer,
       .options = listen_options.connection,
       .tap = listen_options.tap ? listen_options.tap(local, peer, false) : nullptr,
       .client = std::make_unique<ResponderClient>(
           *this, channel, static_cast<std::size_t>(std::max(listen_options.backlog, 1)),
           listen_options.setup_failed, std::move(*pending)),
       .carrier = std::move(carrier)});
  {
    const std::lock_guard lock(mutex);
    connections[connection.get()] = connection;
  }
  try {
    setups.started(id, connection);
  } catch (const std::bad_alloc&) {
    connection->end();
    throw;
  }
  connection->listen();
  return connection;
}

}  // namespace iwarp::net
