// SPDX-License-Identifier: Apache-2.0
// TLS for programs that know nothing of it: carriers (decision 0029) from IWARP_TLS*. A device
// whose settings make none is not opened; nothing falls back to bare TCP.
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
  /// Throws std::system_error with EINVAL, and a line says why: settings that make no TLS. Who has
  /// no certificate may connect all the same.
  explicit TlsCarriers(const TlsSettings& settings);

  /// Null: bare TCP.
  const Factory& connecting() const { return connecting_; }
  /// The same; throws as the constructor where who listens needs more than who connects.
  const Factory& listening() const;

 private:
  Factory connecting_;
  Factory listening_;
  std::string why_none_listens_;
};

/// For ListenOptions::refused. Each reason is a warning once for each host, and information after
/// that: strangers may come as often as they like.
std::function<void(const net::Address& peer, const std::string& why)> log_refused_peers();

}  // namespace iwarp::rdma_core
