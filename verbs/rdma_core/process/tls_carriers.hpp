// SPDX-License-Identifier: Apache-2.0
// TLS for unmodified programs: makes carriers (decision 0029) from IWARP_TLS*. If TLS is requested
// and the settings are invalid, the device cannot be opened. The library never falls back to plain
// TCP.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "iwarp/net/address.hpp"
#include "iwarp/net/carrier.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core {

class TlsCarriers {
 public:
  using Factory = std::shared_ptr<const net::CarrierFactory>;
  /// Logs the reason and throws std::system_error with EINVAL if the settings are invalid. A
  /// missing certificate is no error here, because only listeners need one.
  explicit TlsCarriers(const TlsSettings& settings);

  /// Returns the factory of carriers for connections that this process initiates, or null for plain
  /// TCP.
  const Factory& connecting() const { return connecting_; }
  /// Returns the factory of carriers for listeners, or null for plain TCP. Logs the reason and
  /// throws std::system_error with EINVAL if the settings suffice to connect but not to listen.
  const Factory& listening() const;

 private:
  Factory connecting_;
  Factory listening_;
  std::string why_none_listens_;
};

/// Returns a function for ListenOptions::refused. It logs each reason as a warning once for each
/// host and as information after that, so that strangers cannot flood the log.
std::function<void(const net::Address& peer, const std::string& why)> log_refused_peers();

}  // namespace iwarp::rdma_core
