// SPDX-License-Identifier: Apache-2.0
// Connector: one connect() of the application. It resolves the name, tries the addresses one after
// the other, and starts MPA. If the peer refuses TCP, it tries all addresses again until
// ConnectOptions::retry_refused_for has passed. If the peer does not support RFC 6581, the
// Connector connects once more with revision 1.
//
// The steps run on the worker, so that no thread of the application waits and the resolver's thread
// inherits the worker's blocked signals.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/worker.hpp"
#include "iwarp/net/channel_port.hpp"
#include "iwarp/net/name_lookup.hpp"
#include "setup/cm.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {

/// Returns the number of octets of private data in the Request, as counted by PD_Length.
std::size_t private_octets(const ConnectOptions& options);

class Connector final : public std::enable_shared_from_this<Connector> {
 public:
  Connector(Claims& claims, Registry& registry, Worker& worker, verbs::QueuePair& qp, Address to,
            ConnectOptions options, CmChannel& channel);

  /// Resolves the name, connects and starts MPA. Call once.
  void start();
  /// Starts MPA on a connected socket. Call once, and instead of start().
  void adopt(UniqueFd socket);
  /// Stops connecting. After cancel() has returned, no event is reported and no connection is made.
  void cancel();

 private:
  using Clock = std::chrono::steady_clock;
  template <typename Step>
  void attempt(Step step);
  void limit_time();
  void at(Clock::time_point when, std::function<void()> then);
  void resolve();
  void resolved();
  void next_address(std::error_code before);
  void try_address(const SocketAddress& address);
  std::error_code prepare(sa_family_t family);
  void connected();
  void begin_mpa(UniqueFd socket);
  bool failed(const mpa::Failure& failure);
  void retry_plain();
  void pause();
  void fail(std::string_view what, const std::error_code& error);
  void stop_waiting();

  Claims& claims_;
  Registry& registry_;
  Worker& worker_;
  verbs::QueuePair& qp_;
  const Address to_;
  ConnectOptions options_;
  CmChannel& channel_;

  std::mutex mutex_;  ///< guards the members below; locked before a connection's lock
  bool over_ = false;
  std::vector<SocketAddress> addresses_;
  std::size_t next_ = 0;
  const Clock::time_point retry_until_;
  Clock::duration pause_;
  UniqueFd socket_;
  std::string former_congestion_;               ///< result of avoid_pacing() for `socket_`
  std::weak_ptr<DrivenConnection> connection_;  ///< the connection of the last attempt
  std::optional<NameLookup> lookup_;
  asio::steady_timer timer_;  ///< limits the time to connect, or ends a pause between two tries
  /// Number of the current wait for timer_. The handler of any other wait does nothing.
  std::uint64_t wait_ = 0;
  asio::posix::stream_descriptor readiness_;
  MadeEvent<CmEvent> end_ = MadeEvent<CmEvent>(1);  ///< memory for the event of a failure
};

}  // namespace iwarp::net
