// SPDX-License-Identifier: Apache-2.0
// Creates the TLS carriers from the settings.
#include "common/connection/tls.hpp"

#include "common/base/error.hpp"
#include "iwarp/tls/tls.hpp"

namespace iwarp::apps {
namespace {

tls::TlsOptions options_of(const options::TlsSettings& from) {
  tls::TlsOptions out;
  out.certificate = from.certificate;
  out.key = from.key;
  out.authorities = from.authorities;
  out.shared_keys = from.shared_keys;
  out.peer_names = tls::split_names(from.peers);
  return out;
}

std::shared_ptr<const net::CarrierFactory> must(std::expected<tls::Factory, std::string> made) {
  if (!made) throw Error(made.error());
  return *made;
}

}  // namespace

std::shared_ptr<const net::CarrierFactory> connecting_carrier(const options::TlsSettings& tls) {
  return tls.wanted() ? must(tls::connecting(options_of(tls))) : nullptr;
}

std::shared_ptr<const net::CarrierFactory> listening_carrier(const options::TlsSettings& tls) {
  return tls.wanted() ? must(tls::listening(options_of(tls))) : nullptr;
}

}  // namespace iwarp::apps
