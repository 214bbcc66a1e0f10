// SPDX-License-Identifier: Apache-2.0
// The options of TLS, and the carriers that they ask for.
#pragma once

#include <memory>
#include <string>

#include "command_line/command.hpp"
#include "iwarp/net/carrier.hpp"

namespace iwarp::apps {

/// The values as the command line gives them.
struct TlsArguments {
  bool on = false;
  std::string certificate;
  std::string key;
  std::string authorities;
  std::string peers;  ///< names, with commas between
  std::string shared_keys;

  /// With any of them TLS is wanted.
  bool wanted() const {
    return on || !certificate.empty() || !key.empty() || !authorities.empty() || !peers.empty() ||
           !shared_keys.empty();
  }
};

/// Adds --tls, --tls-cert, --tls-key, --tls-ca, --tls-peer and --tls-psk to a command.
void add_tls_options(cli::Command& command, TlsArguments& tls);

/// Null: no TLS. Error: what is wrong with the files.
std::shared_ptr<const net::CarrierFactory> connecting_carrier(const TlsArguments& tls);
std::shared_ptr<const net::CarrierFactory> listening_carrier(const TlsArguments& tls);

}  // namespace iwarp::apps
