// SPDX-License-Identifier: Apache-2.0
// From the command line to iwarp::tls.
#include "common/connection/tls.hpp"

#include "common/base/error.hpp"
#include "iwarp/tls/tls.hpp"

namespace iwarp::apps {
namespace {

tls::TlsOptions options_of(const TlsArguments& from) {
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

void add_tls_options(cli::Command& command, TlsArguments& tls) {
  command.begin_group("TLS");
  command.flag("--tls", tls.on,
               "TLS 1.3 on the connection; any of the options below asks for it, too. Who connects "
               "believes the authorities of the system unless --tls-ca names others");
  const auto file = [&](const char* name, std::string& value, const char* help) {
    command.text(name, "FILE", value, help).completes(cli::Completion::kFile);
  };
  file("--tls-cert", tls.certificate, "PEM: our certificate, followed by those above it");
  file("--tls-key", tls.key, "PEM: its key, without a passphrase");
  file("--tls-ca", tls.authorities,
       "PEM: authorities that vouch for the peer. A server that has it demands a certificate of "
       "each client");
  command.text("--tls-peer", "NAME,...", tls.peers,
               "Names or addresses, one of which the peer's certificate has to be for. The default "
               "is the host connected to; of clients, any");
  file("--tls-psk", tls.shared_keys,
       "Lines IDENTITY:HEX, keys that both sides have, in the place of certificates. A client uses "
       "the first");
}

std::shared_ptr<const net::CarrierFactory> connecting_carrier(const TlsArguments& tls) {
  return tls.wanted() ? must(tls::connecting(options_of(tls))) : nullptr;
}

std::shared_ptr<const net::CarrierFactory> listening_carrier(const TlsArguments& tls) {
  return tls.wanted() ? must(tls::listening(options_of(tls))) : nullptr;
}

}  // namespace iwarp::apps
