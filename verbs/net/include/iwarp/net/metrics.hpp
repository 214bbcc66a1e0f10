// SPDX-License-Identifier: Apache-2.0
// The figures of a program for whoever watches it: Prometheus' text format (version 0.0.4), by
// HTTP, to this machine or to this user only. Nobody can change anything through it.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "iwarp/net/address.hpp"
#include "iwarp/net/rnic.hpp"
#include "iwarp/net/statistics.hpp"

namespace iwarp::net {

/// A port on a loopback address, or a Unix socket.
struct MetricsAddress {
  Address tcp;       ///< numeric
  std::string path;  ///< of the socket; empty: `tcp` counts
};

/// "PORT" (on 127.0.0.1), "ADDR:PORT" with a numeric loopback address, or "unix:PATH", in which %p
/// becomes the process id. Else what is wrong with it, for people.
std::expected<MetricsAddress, std::string> parse_metrics_address(std::string_view text);
std::string to_string(const MetricsAddress& address);

/// The text format. What of a label is no printable ASCII becomes '?'.
std::string metrics_text(const Statistics& statistics);

class MetricsServer {
 public:
  /// Has a thread of its own. The socket at a path is the user's alone (mode 0600); one that is
  /// left there and that nobody listens on is replaced, all else there is
  /// std::errc::address_in_use.
  static Expected<std::unique_ptr<MetricsServer>> open(const MetricsAddress& at);
  /// Takes the path away.
  ~MetricsServer();

  /// With the port that was really bound.
  const MetricsAddress& address() const;
  /// Takes the path away, for a process that ends without destroying this.
  void unlink() const noexcept;

  /// The Rnic is shown from now on, and its sums for as long as the server lives. It outlives the
  /// Watch, which does not outlive the server.
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
  Watch watch(const Rnic& rnic);
  /// What is shown.
  Statistics statistics() const;

 private:
  struct Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  void forget(const Rnic& rnic);
  std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp::net
