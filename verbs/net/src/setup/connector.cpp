// SPDX-License-Identifier: Apache-2.0
// Connector: the steps of connecting. Each step runs on the worker and under the connector's mutex.
#include "setup/connector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cerrno>

#include "iwarp/net/socket_ops.hpp"

namespace iwarp::net {
namespace {

// The first and the longest pause between two tries; each pause is twice the one before it. The
// first pause is short because many peers start to listen soon after the first try. The pauses grow
// so that a peer that closes the connection after each Request does not receive a hundred Requests.
constexpr auto kFirstPause = std::chrono::milliseconds(5);
constexpr auto kLongestPause = std::chrono::milliseconds(40);

/// Returns the address to bind to, or nullopt if `local` is not numeric. An empty host means any
/// address of `family`, which is the address family of the peer.
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

}  // namespace

std::size_t private_octets(const ConnectOptions& options) {
  const bool enhanced = options.connection.startup.revision >= 2;
  return options.private_data.size() + options.private_trailer.size() +
         (enhanced ? mpa::kEnhancedWordSize : 0);
}

Connector::Connector(Claims& claims, Registry& registry, Worker& worker, verbs::QueuePair& qp,
                     Address to, ConnectOptions options, CmChannel& channel)
    : claims_(claims),
      registry_(registry),
      worker_(worker),
      qp_(qp),
      to_(std::move(to)),
      options_(std::move(options)),
      channel_(channel),
      retry_until_(Clock::now() + options_.retry_refused_for),
      pause_(kFirstPause),
      timer_(worker.context()),
      readiness_(worker.context()) {}

// Runs one step, unless connecting has ended. If memory runs out, reports a failure to connect.
template <typename Step>
void Connector::attempt(Step step) {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  try {
    step();
  } catch (const std::bad_alloc&) {
    if (!over_) fail("connect", std::make_error_code(std::errc::not_enough_memory));
  }
}

void Connector::start() {
  worker_.post([self = shared_from_this()] {
    self->attempt([&] {
      self->limit_time();
      self->resolve();
    });
  });
}

void Connector::limit_time() {
  at(Clock::now() + options_.tcp_timeout, [this] {
    fail(fmt::format("connect to {}", to_string(to_)), make_error_code(verbs::Errc::kTimedOut));
  });
}

void Connector::at(Clock::time_point when, std::function<void()> then) {
  timer_.expires_at(when);
  // If the timer expires just before it is cancelled, its handler runs without an error. So each
  // wait has a number, and the handler does nothing unless its wait is the current one.
  timer_.async_wait([self = shared_from_this(), then = std::move(then),
                     wait = ++wait_](const boost::system::error_code& cancelled) {
    self->attempt([&] {
      if (!cancelled && wait == self->wait_) then();
    });
  });
}

void Connector::adopt(UniqueFd socket) {
  attempt([&] { begin_mpa(std::move(socket)); });
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
    return next_address({});
  }
  try {
    lookup_.emplace(to_.host);
  } catch (const std::system_error& error) {
    return fail(fmt::format("cannot look up {}", to_.host), error.code());
  }
  boost::system::error_code failed;
  readiness_.assign(lookup_->fd(), failed);
  if (failed) return fail(fmt::format("cannot look up {}", to_.host), failed);
  readiness_.async_wait(asio::posix::stream_descriptor::wait_read,
                        [self = shared_from_this()](const boost::system::error_code& cancelled) {
                          if (cancelled) return;
                          self->attempt([&] { self->resolved(); });
                        });
}

void Connector::resolved() {
  const auto found = lookup_->result();
  readiness_.release();
  lookup_.reset();
  if (!found) return fail(fmt::format("unknown host {}", to_.host), found.error());
  for (const auto& host : *found) {
    boost::system::error_code not_numeric;
    const auto address = asio::ip::make_address(host, not_numeric);
    if (!not_numeric) addresses_.push_back(to_socket_address({address, to_.port}));
  }
  next_address({});
}

void Connector::next_address(std::error_code before) {
  if (readiness_.is_open()) readiness_.release();
  socket_.reset();
  if (next_ == addresses_.size()) {
    if (!before) before = make_error_code(verbs::Errc::kAddressInvalid);
    const bool refused = before == std::errc::connection_refused;
    if (refused && Clock::now() < retry_until_) return pause();
    return fail(fmt::format("connect to {}", to_string(to_)), before);
  }
  try_address(addresses_[next_++]);
}

void Connector::try_address(const SocketAddress& address) {
  auto socket = open_tcp_socket(address.storage.ss_family);
  if (!socket) return next_address(socket.error());
  socket_ = std::move(*socket);
  if (const auto error = prepare(address.storage.ss_family)) return next_address(error);
  if (socket_ops().connect(socket_.get(), address.get(), address.length) == 0) return connected();
  if (errno != EINPROGRESS && errno != EINTR) return next_address(last_error());
  boost::system::error_code failed;
  readiness_.assign(socket_.get(), failed);
  if (failed) return next_address(failed);
  readiness_.async_wait(asio::posix::stream_descriptor::wait_write,
                        [self = shared_from_this()](const boost::system::error_code& cancelled) {
                          if (cancelled) return;
                          self->attempt([&] {
                            const auto error = pending_error(self->socket_.get());
                            error ? self->next_address(error) : self->connected();
                          });
                        });
}

std::error_code Connector::prepare(sa_family_t family) {
  if (options_.congestion.empty()) {
    former_congestion_ = avoid_pacing(socket_.get());
  } else if (const auto error = set_congestion(socket_.get(), options_.congestion)) {
    return error;
  }
  if (!options_.local) return {};
  const auto from = local_end(*options_.local, family);
  if (!from) return make_error_code(verbs::Errc::kAddressInvalid);
  return bind_to_connect(socket_.get(), *from);
}

void Connector::connected() {
  const auto error = prepare_connected(socket_.get(), options_.congestion, former_congestion_);
  if (error) return next_address(error);
  stop_waiting();
  begin_mpa(std::move(socket_));
}

void Connector::begin_mpa(UniqueFd socket) {
  const Address local = local_address(socket.get());
  Address peer = peer_address(socket.get());
  if (peer.host.empty()) {  // the peer has reset the connection
    peer = addresses_.empty() ? to_ : to_address(addresses_[next_ - 1]);
  }
  std::unique_ptr<Carrier> carrier;
  if (options_.carrier != nullptr) {
    carrier = options_.carrier->make(CarrierSocket(socket.get()), to_.host);
    if (carrier == nullptr) {
      return fail(fmt::format("connect to {}", to_string(to_)),
                  std::make_error_code(std::errc::not_enough_memory));
    }
  }
  InitiatorClient::Retry retry;
  // An adopted socket cannot be connected again.
  if (!addresses_.empty()) {
    retry = [self = shared_from_this()](const auto& failure) { return self->failed(failure); };
  }
  auto private_data = options_.private_data;
  private_data.insert(private_data.end(), options_.private_trailer.begin(),
                      options_.private_trailer.end());
  auto client = std::make_unique<InitiatorClient>(claims_, channel_, std::move(retry),
                                                  private_octets(options_));
  auto connection =
      DrivenConnection::make(registry_, worker_,
                             {.role = mpa::Role::kInitiator,
                              .socket = std::move(socket),
                              .local = local,
                              .peer = peer,
                              .qp = &qp_,
                              .options = options_.connection,
                              .tap = options_.tap ? options_.tap(local, peer, true) : nullptr,
                              .client = std::move(client),
                              .carrier = std::move(carrier)});
  connection_ = connection;
  bool attached = false;
  try {
    attached = claims_.attach(qp_, connection);
  } catch (...) {
    // A thread that polls may drive the connection as soon as one feed has it. If end() returns
    // false, the connection has failed and its client has reported that; do not report it twice.
    if (connection->end()) throw;
    return;
  }
  if (!attached) {
    connection->end();
    return;
  }
  connection->start(private_data);  // From here on the connection itself reports its failures.
}

// Called with the lock of the failed connection held, while no other step of this connector runs.
// Returns whether the Connector will try again.
bool Connector::failed(const mpa::Failure& failure) {
  const bool again = failure.unanswered && Clock::now() < retry_until_;
  const bool plain = failure.retry_plain && options_.fall_back_to_revision_1 &&
                     options_.connection.startup.revision >= 2;
  if (!again && !plain) return false;
  worker_.post([self = shared_from_this(), again] {
    self->attempt([&] {
      // The failed connection may still hold the local port, which the next connection uses.
      if (const auto connection = self->connection_.lock()) connection->sync();
      again ? self->pause() : self->retry_plain();
    });
  });
  return true;
}

void Connector::retry_plain() {
  // The peer has closed the connection after an enhanced Request, so connect without enhanced
  // features. [EMPA-50]
  options_.connection.startup.revision = 1;
  options_.connection.startup.rtr = mpa::Rtr::kNone;
  options_.connection.startup.extensions = false;
  options_.private_trailer.clear();
  next_ -= 1;  // go back to the address whose peer answered
  limit_time();
  next_address({});
}

void Connector::pause() {
  at(std::min(Clock::now() + pause_, retry_until_), [this] {
    next_ = 0;
    limit_time();
    next_address({});
  });
  pause_ = std::min<Clock::duration>(2 * pause_, kLongestPause);
}

void Connector::fail(std::string_view what, const std::error_code& error) {
  over_ = true;
  stop_waiting();
  CountedSetup(registry_.setups_as(mpa::Role::kInitiator)).failed(SetupFailure::kUnreachable);
  CmEvent& event = end_.front();
  try {
    event = connect_failed(what, error);
    if (next_ != 0) event.peer = to_address(addresses_[next_ - 1]);
  } catch (const std::bad_alloc&) {
    event.type = CmEvent::Type::kConnectFailed;
    event.error = to_errc(error);
  }
  event.qp = &qp_;
  event.qp_num = qp_.num();
  claims_.release(qp_);
  ChannelPort::push_made(channel_, end_);
}

void Connector::stop_waiting() {
  timer_.cancel();
  ++wait_;
  if (readiness_.is_open()) readiness_.release();
  if (!over_) return;
  lookup_.reset();
  socket_.reset();
}

}  // namespace iwarp::net
