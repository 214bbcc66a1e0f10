// SPDX-License-Identifier: Apache-2.0
// TLS 1.3 (RFC 8446) below MPA, for ConnectOptions::carrier and ListenOptions::carrier. Before the
// peer has proven its identity, an end sends no octet of MPA, and therefore no octet of registered
// memory. rfc-notes/security.md says which attacks this prevents and which it does not.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "iwarp/net/carrier.hpp"

namespace iwarp::tls {

/// Options of TLS. Each string is the path of a PEM file unless its comment says otherwise;
/// connecting() and listening() read the files once. Set either certificates or a shared key, not
/// both.
struct TlsOptions {
  std::string
      certificate{};  ///< certificate of this end, followed by the chain up to its authority
  std::string key{};  ///< private key of `certificate`, without a passphrase
  /// Certificates of the authorities that this end trusts. If empty, a client trusts the
  /// authorities of the system, and a server does not ask its peers for a certificate. If set, the
  /// peers of a server must present a certificate.
  std::string authorities{};
  /// Host names or addresses; the peer's certificate must be valid for one of them. If empty, a
  /// client requires a certificate for the host to which the caller connects, and a server accepts
  /// every peer with a certificate of `authorities`.
  std::vector<std::string> peer_names{};
  /// File of pre-shared keys, which replaces certificates in a laboratory. Each line is
  /// "IDENTITY:HEX", and HEX is a key of 16 to 64 bytes. A client uses the first line.
  std::string shared_keys{};
  /// Number of octets that this end sends under one key before both ends replace their keys; at
  /// least 1. RFC 8446 section 5.5 requires less than 2^38.
  std::uint64_t rekey_after = std::uint64_t{1} << 36;
};

/// Splits a comma-separated list for TlsOptions::peer_names.
std::vector<std::string> split_names(std::string_view list);

/// A carrier factory to be shared by any number of connections and listeners. Thread-safe.
using Factory = std::shared_ptr<const net::CarrierFactory>;

/// Makes a factory for a client. On failure returns a text that says which option or file is wrong.
std::expected<Factory, std::string> connecting(const TlsOptions& options);
/// Makes a factory for a server. On failure returns a text that says which option or file is wrong.
std::expected<Factory, std::string> listening(const TlsOptions& options);

/// Prevents OpenSSL from freeing its memory when the process exits, for programs whose threads
/// still use connections during exit. Call before the first use of OpenSSL; a later call has no
/// effect.
void stay_usable_at_exit();

}  // namespace iwarp::tls
