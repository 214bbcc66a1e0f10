// SPDX-License-Identifier: Apache-2.0
// The steps of connecting. Each runs on the worker and under the connector's mutex.
#include "connector.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/address.hpp>
#include <cerrno>

#include "socket_ops.hpp"

namespace iwarp::net {
namespace {

/// nullopt: `local` is not numeric. An empty host is any address of the peer's family.
std::optional<SocketAddress> local_end(const Address& local, sa_family_t family) {
  using asio::ip::tcp;
  if (local.host.empty()) {
    return to_socket_address({family == AF_INET6 ? tcp::v6() : tcp::v4(), local.port});
  }
  boost::system::error_code not_numeric;
  const auto address = asio::ip::make_address(local.host, not_numeric);
  if (not_numeric) return std::nullopt;
  return to_socket_address({address, local.port});
}

/// As PD_Length counts them.
std::size_t private_octets(const ConnectOptions& options) {
  const bool enhanced = options.connection.startup.revision >= 2;
  return options.private_data.size() + (enhanced ? mpa::kEnhancedWordSize : 0);
}

std::error_code to_std(const boost::system::error_code& error) { return error; }

}  // namespace

Connector::Connector(Claims& claims, Registry& registry, Worker& worker, verbs::QueuePair& qp,
                     Address to, ConnectOptions options, CmChannel& channel)
    : claims_(claims),
      registry_(registry),
      worker_(worker),
      qp_(qp),
      to_(std::move(to)),
      options_(std::move(options)),
      channel_(channel),
      resolver_(worker.context()),
      timer_(worker.context()),
      readiness_(worker.context()) {}

void Connector::start() {
  worker_.post([self = shared_from_this()] {
    const std::lock_guard lock(self->mutex_);
    if (self->over_) return;
    self->limit_time();
    self->resolve();
  });
}

void Connector::limit_time() {
  timer_.expires_after(options_.tcp_timeout);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    const std::lock_guard lock(self->mutex_);
    if (cancelled || self->over_) return;
    self->fail(fmt::format("connect to {}", to_string(self->to_)),
               make_error_code(verbs::Errc::kTimedOut));
  });
}

void Connector::adopt(UniqueFd socket) {
  const std::lock_guard lock(mutex_);
  begin_mpa(std::move(socket));
}

void Connector::cancel() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  stop_waiting();
}

void Connector::resolve() {
  boost::system::error_code not_numeric;
  const auto numeric = asio::ip::make_address(to_.host, not_numeric);
  if (!not_numeric) {
    addresses_ = {to_socket_address({numeric, to_.port})};
    next_address({});
    return;
  }
  resolver_.async_resolve(to_.host, std::to_string(to_.port), Tcp::resolver::numeric_service,
                          [self = shared_from_this()](const boost::system::error_code& error,
                                                      const Tcp::resolver::results_type& results) {
                            const std::lock_guard lock(self->mutex_);
                            if (self->over_) return;
                            if (error) {
                              self->fail(fmt::format("cannot resolve {}", self->to_.host),
                                         to_std(error));
                              return;
                            }
                            for (const auto& entry : results) {
                              self->addresses_.push_back(to_socket_address(entry.endpoint()));
                            }
                            self->next_address({});
                          });
}

void Connector::next_address(std::error_code before) {
  if (readiness_.is_open()) readiness_.release();
  socket_.reset();
  if (next_ == addresses_.size()) {
    if (!before) before = make_error_code(verbs::Errc::kAddressInvalid);
    fail(fmt::format("connect to {}", to_string(to_)), before);
    return;
  }
  try_address(addresses_[next_++]);
}

void Connector::try_address(const SocketAddress& address) {
  auto socket = open_tcp_socket(address.storage.ss_family);
  if (!socket) {
    next_address(socket.error());
    return;
  }
  socket_ = std::move(*socket);
  if (const auto error = bind_local(address.storage.ss_family)) {
    next_address(error);
    return;
  }
  if (socket_ops().connect(socket_.get(), address.get(), address.length) == 0) {
    connected();
    return;
  }
  if (errno != EINPROGRESS && errno != EINTR) {
    next_address(last_error());
    return;
  }
  boost::system::error_code failed;
  readiness_.assign(socket_.get(), failed);
  if (failed) {
    next_address(to_std(failed));
    return;
  }
  readiness_.async_wait(asio::posix::stream_descriptor::wait_write,
                        [self = shared_from_this()](const boost::system::error_code& cancelled) {
                          const std::lock_guard lock(self->mutex_);
                          if (cancelled || self->over_) return;
                          if (const auto error = pending_error(self->socket_.get())) {
                            self->next_address(error);
                          } else {
                            self->connected();
                          }
                        });
}

std::error_code Connector::bind_local(sa_family_t family) {
  if (!options_.local) return {};
  const auto from = local_end(*options_.local, family);
  if (!from) return make_error_code(verbs::Errc::kAddressInvalid);
  return bind_to_connect(socket_.get(), *from);
}

void Connector::connected() {
  if (const auto error = prepare_connected(socket_.get())) {
    next_address(error);
    return;
  }
  stop_waiting();
  begin_mpa(std::move(socket_));
}

void Connector::begin_mpa(UniqueFd socket) {
  const Address local = local_address(socket.get());
  const Address peer = peer_address(socket.get());
  // A socket that was handed to us cannot be made anew.
  const bool may_retry = options_.fall_back_to_revision_1 && !addresses_.empty() &&
                         options_.connection.startup.revision >= 2;
  std::function<bool()> retry;
  if (may_retry) retry = [self = shared_from_this()] { return self->retry_plain(); };
  auto client = std::make_unique<InitiatorClient>(claims_, channel_, std::move(retry),
                                                  private_octets(options_));
  auto connection =
      DrivenConnection::make(registry_, worker_,
                             {.role = mpa::Role::kInitiator,
                              .socket = std::move(socket),
                              .qp = &qp_,
                              .options = options_.connection,
                              .tap = options_.tap ? options_.tap(local, peer, true) : nullptr,
                              .client = std::move(client)});
  if (!claims_.attach(qp_, connection)) {
    connection->end();
    return;
  }
  connection->start(options_.private_data);
}

// Under the lock of the connection that failed.
bool Connector::retry_plain() {
  worker_.post([self = shared_from_this()] {
    const std::lock_guard lock(self->mutex_);
    if (self->over_) return;
    // Enhanced features are what the peer did not understand. [EMPA-50]
    self->options_.connection.startup.revision = 1;
    self->options_.connection.startup.rtr = mpa::Rtr::kNone;
    self->options_.connection.startup.extensions = false;
    self->next_ -= 1;  // the address that answered
    self->limit_time();
    self->next_address({});
  });
  return true;
}

void Connector::fail(const std::string& what, const std::error_code& error) {
  over_ = true;
  stop_waiting();
  auto event = connect_failed(what, error);
  event.qp = &qp_;
  event.qp_num = qp_.num();
  if (next_ != 0) event.peer = to_address(addresses_[next_ - 1]);
  claims_.release(qp_);
  channel_.push(std::move(event));
}

void Connector::stop_waiting() {
  resolver_.cancel();
  timer_.cancel();
  if (readiness_.is_open()) readiness_.release();
  if (over_) socket_.reset();
}

}  // namespace iwarp::net
