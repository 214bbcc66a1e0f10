// SPDX-License-Identifier: Apache-2.0
// MetricsServer: serves the statistics of an application over HTTP in Prometheus' text format
// (version 0.0.4), either to clients on this machine, or to clients of this user through a Unix
// socket. Clients can read the statistics and nothing else.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "iwarp/net/address.hpp"
#include "iwarp/net/rnic.hpp"
#include "iwarp/net/statistics.hpp"

namespace iwarp::net {

/// The address of a metrics server: a port on a loopback address, or a Unix socket.
struct MetricsAddress {
  Address tcp{};       ///< numeric loopback address; used if `path` is empty
  std::string path{};  ///< path of the Unix socket; empty if `tcp` is used
};

/// Parses "PORT" (on 127.0.0.1), "ADDR:PORT" with a numeric loopback address, or "unix:PATH", in
/// which %p stands for the process id. On failure returns what is wrong with `text`.
std::expected<MetricsAddress, std::string> parse_metrics_address(std::string_view text);
/// Returns "http://ADDR:PORT/metrics" or "unix:PATH".
std::string to_string(const MetricsAddress& address);

/// Returns the statistics in Prometheus' text format. Characters of labels outside printable ASCII
/// become '?'.
std::string metrics_text(const Statistics& statistics);

/// A metrics server with a thread of its own. Thread-safe.
class MetricsServer {
 public:
  /// Starts a server. A Unix socket has mode 0600. If the path names a socket of this user on which
  /// no process listens, the new socket replaces that socket. Fails with
  /// `std::errc::address_in_use` if the path or the port is taken, with the errors of listen_unix()
  /// and bind_tcp(), or with the system's error if memory, a thread or a descriptor is missing.
  static Expected<std::unique_ptr<MetricsServer>> open(const MetricsAddress& at);
  /// Stops the server and removes its Unix socket.
  ~MetricsServer();

  /// Returns the address of the server, with the port to which it is bound.
  const MetricsAddress& address() const;
  /// Removes the Unix socket, for a process that exits without destroying the server.
  void unlink() const noexcept;

  /// While a Watch exists, the server shows the statistics of its Rnic. The destructor of the Watch
  /// adds the Rnic's totals to the totals that the server keeps. Rnic and server must outlive the
  /// Watch. Movable.
  class Watch {
   public:
    Watch() = default;
    Watch(MetricsServer& server, const Rnic& rnic) : server_(&server), rnic_(&rnic) {}
    Watch(Watch&& o) noexcept : server_(std::exchange(o.server_, nullptr)), rnic_(o.rnic_) {}
    Watch& operator=(Watch&&) = delete;
    ~Watch();

   private:
    MetricsServer* server_ = nullptr;
    const Rnic* rnic_ = nullptr;
  };
  /// Makes the server show the statistics of an Rnic while the returned Watch exists.
  Watch watch(const Rnic& rnic);

 private:
  struct Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  void forget(const Rnic& rnic);
  std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::net
