// SPDX-License-Identifier: Apache-2.0
// Context: the state that all connections of a client or of a server share. A Context holds the
// credentials, the trusted authorities and, for a client, the sessions that can be resumed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "iwarp/tls/tls.hpp"
#include "openssl.hpp"
#include "shared_keys.hpp"

namespace iwarp::tls {

enum class Side : std::uint8_t { kConnects, kListens };

class Context final : public net::CarrierFactory, public std::enable_shared_from_this<Context> {
 public:
  Context(Side side, const TlsOptions& options) : side_(side), options_(options) {}
  /// Call before use. Returns what is wrong with the options, or an empty string.
  std::string set_up();

  std::unique_ptr<net::Carrier> make(net::CarrierSocket socket,
                                     const std::string& host) const override;

  // The carriers call these functions.
  Side side() const { return side_; }
  const TlsOptions& options() const { return options_; }
  const SharedKeys& shared_keys() const { return keys_; }
  /// Returns a new SSL object, or null if memory runs out.
  SslPtr make_ssl() const { return SslPtr(SSL_new(ssl_.get())); }
  /// Removes and returns a session with `host` that can be resumed, or returns null if there is
  /// none. Each session is used only once (RFC 8446 appendix C.4).
  SessionPtr take_session(const std::string& host) const;
  void keep_session(const std::string& host, SessionPtr session) const;

 private:
  std::string fault() const;
  std::string use_certificate();
  std::string use_authorities();

  const Side side_;
  const TlsOptions options_;
  SharedKeys keys_;
  SslContextPtr ssl_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, SessionPtr> sessions_;
};

/// Returns OpenSSL's text for this thread's last failure.
std::string openssl_reason();

}  // namespace iwarp::tls
