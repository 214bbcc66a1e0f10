// SPDX-License-Identifier: Apache-2.0
// Connector: one connect() of the program. Resolves the name, tries the addresses one after the
// other, starts MPA, and does it all once more with revision 1 when the peer turns out to be old.
// Runs on its worker, so that no thread of the program is kept and the resolver's thread inherits
// the worker's blocked signals.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cm.hpp"
#include "sockets.hpp"
#include "worker.hpp"

namespace iwarp::net {

class Connector final : public std::enable_shared_from_this<Connector> {
 public:
  Connector(Claims& claims, Registry& registry, Worker& worker, verbs::QueuePair& qp, Address to,
            ConnectOptions options, CmChannel& channel);

  /// Resolve, connect, start MPA. Call once.
  void start();
  /// Starts MPA on a connected socket instead. Call once.
  void adopt(UniqueFd socket);
  /// When this returns, nobody is told any more and no connection will be made.
  void cancel();

 private:
  using Tcp = asio::ip::tcp;
  void limit_time();
  void resolve();
  void next_address(std::error_code before);
  void try_address(const SocketAddress& address);
  std::error_code bind_local(sa_family_t family);
  void connected();
  void begin_mpa(UniqueFd socket);
  bool retry_plain();
  void fail(const std::string& what, const std::error_code& error);
  void stop_waiting();

  Claims& claims_;
  Registry& registry_;
  Worker& worker_;
  verbs::QueuePair& qp_;
  const Address to_;
  ConnectOptions options_;
  CmChannel& channel_;

  std::mutex mutex_;  ///< before a connection's lock
  bool over_ = false;
  std::vector<SocketAddress> addresses_;
  std::size_t next_ = 0;
  UniqueFd socket_;
  Tcp::resolver resolver_;
  asio::steady_timer timer_;
  asio::posix::stream_descriptor readiness_;
};

}  // namespace iwarp::net
