// SPDX-License-Identifier: Apache-2.0
// TLS for unmodified programs. The IWARP_TLS* variables determine the carriers (transports between
// MPA and TCP, see decision 0029). If TLS is requested and these settings are invalid, the device
// cannot be opened. The library never falls back to plain TCP.
#pragma once

#include <memory>
#include <string>

#include "iwarp/net/carrier.hpp"
#include "iwarp/net/connection_manager.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

class TlsCarriers {
 public:
  using Factory = std::shared_ptr<const net::CarrierFactory>;
  /// If the settings are invalid, logs the reason and throws std::system_error with EINVAL. Does
  /// not fail if the certificate is missing, because only listeners need one.
  explicit TlsCarriers(const TlsSettings& settings);

  /// Returns the factory of carriers for connections that this process initiates, or null for plain
  /// TCP.
  const Factory& connecting() const { return connecting_; }
  /// Returns the factory of carriers for listeners, or null for plain TCP. If the settings are
  /// sufficient to connect but not to listen, logs the reason and throws std::system_error with
  /// EINVAL.
  const Factory& listening() const;

 private:
  Factory connecting_;
  Factory listening_;
  std::string why_none_listens_;
};

/// Returns a function for ListenOptions::setup_failed, which logs why a peer was refused if TLS,
/// its absence, or a lack of room for one more connection is the reason. The function logs each
/// pair of host and reason as a warning only once, and at level information after that, so that
/// unknown hosts cannot flood the log with warnings.
decltype(net::ListenOptions::setup_failed) log_refused_peers();

}  // namespace iwarp::rdma_core
