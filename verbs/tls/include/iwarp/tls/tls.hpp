// SPDX-License-Identifier: Apache-2.0
// TLS 1.3 (RFC 8446) below MPA, for ConnectOptions::carrier and ListenOptions::carrier. No octet of
// MPA, and so none of registered memory, leaves before the peer has proven who it is. What that
// protects against, and what not: rfc-notes/security.md.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "iwarp/net/carrier.hpp"

namespace iwarp::tls {

/// Files are PEM, read once. Either certificates or a shared key, never both.
struct TlsOptions {
  std::string certificate;  ///< ours, followed by those between it and its authority
  std::string key;          ///< of `certificate`, without a passphrase
  /// Who may vouch for peers. Who connects: empty, the system's. Who listens: with it a peer has to
  /// have a certificate, without it none is asked for.
  std::string authorities;
  /// The peer's certificate is for one of these, host names or addresses. Empty: who connects wants
  /// the host that it was told to connect to, who listens takes whom `authorities` vouch for.
  std::vector<std::string> peer_names;
  /// Of lines "IDENTITY:KEY", KEY 16 to 64 octets in hex, in the place of certificates: for
  /// laboratories. Who connects uses the first line.
  std::string shared_keys;
  /// Octets sent under one key, both ways together with those that the peer asks for. RFC 8446
  /// section 5.5 wants it below 2^38.
  std::uint64_t rekey_after = std::uint64_t{1} << 36;
};

/// Names with commas between, for TlsOptions::peer_names.
std::vector<std::string> split_names(std::string_view list);

using Factory = std::shared_ptr<const net::CarrierFactory>;

/// For who connects. The text says what is wrong with the options, for people.
std::expected<Factory, std::string> connecting(const TlsOptions& options);
/// For who listens.
std::expected<Factory, std::string> listening(const TlsOptions& options);

/// For who lets threads run while the process exits: OpenSSL is then not taken apart under them.
/// Counts when nothing of OpenSSL was used before.
void stay_usable_at_exit();

}  // namespace iwarp::tls
