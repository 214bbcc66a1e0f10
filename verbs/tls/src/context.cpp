// SPDX-License-Identifier: Apache-2.0
// Makes the carrier factories of clients and servers: an SSL_CTX from the options, and the sessions
// that a client can resume.
#include "context.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "iwarp/tls/tls.hpp"
#include "tls_carrier.hpp"

namespace iwarp::tls {
namespace {

// The cipher suites for a shared key. A suite must use the hash of the key, and that hash is
// SHA-256 (RFC 8446 section 4.2.11).
constexpr auto kSha256Suites = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
// The cipher suites for certificates. The first suite is the fastest on processors with AES
// instructions, and is as strong as the key exchange.
constexpr auto kSuites =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
// Size of OpenSSL's read buffer: large enough to read several records in one system call.
constexpr std::size_t kReadAhead = 64 * 1024;
constexpr std::size_t kMostSessions = 256;

// Refuses a key that is protected by a passphrase. Without this callback, OpenSSL would ask for the
// passphrase on the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

/// Returns why OpenSSL could not read `file`. If the file cannot be opened, the first error in
/// OpenSSL's queue says why; otherwise the last error is the most specific.
std::string fault_of(const std::string& file) {
  const auto first = ERR_peek_error();
  const bool is_system = ERR_SYSTEM_ERROR(first);
  return fmt::format(
      "{}: {}", file,
      is_system ? std::generic_category().message(ERR_GET_REASON(first)) : openssl_reason());
}

std::expected<Factory, std::string> make(Side side, const TlsOptions& options) {
  auto context = std::make_shared<Context>(side, options);
  if (auto wrong = context->set_up(); !wrong.empty()) return std::unexpected(std::move(wrong));
  return context;
}

}  // namespace

std::string openssl_reason() {
  const auto code = ERR_peek_last_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return reason != nullptr ? reason : "unknown OpenSSL error";
}

std::string Context::fault() const {
  const bool certificates =
      !options_.certificate.empty() || !options_.key.empty() || !options_.authorities.empty();
  const bool shared = !options_.shared_keys.empty();
  if (shared && (certificates || !options_.peer_names.empty())) {
    return "a TLS pre-shared key cannot be combined with certificates or peer names (set --tls-psk "
           "alone, or leave it out)";
  }
  if (options_.certificate.empty() != options_.key.empty()) {
    return "TLS requires a certificate together with its private key (set --tls-cert and "
           "--tls-key)";
  }
  if (side_ == Side::kListens && !shared && options_.certificate.empty()) {
    return "a TLS server requires a certificate with its private key, or a pre-shared key (set "
           "--tls-cert and --tls-key, or --tls-psk)";
  }
  if (side_ == Side::kListens && options_.authorities.empty() && !options_.peer_names.empty()) {
    return "checking the names of TLS peers requires trusted CAs (set --tls-ca)";
  }
  if (options_.rekey_after == 0) return "rekey_after 0: must be at least 1";
  return {};
}

std::string Context::set_up() {
  if (auto wrong = fault(); !wrong.empty()) return wrong;
  ERR_clear_error();
  ssl_.reset(SSL_CTX_new(side_ == Side::kConnects ? TLS_client_method() : TLS_server_method()));
  if (ssl_ == nullptr) return "cannot create a TLS context: " + openssl_reason();
  SSL_CTX* const ssl = ssl_.get();
  SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION);
  const bool shared = !options_.shared_keys.empty();
  SSL_CTX_set_ciphersuites(ssl, shared ? kSha256Suites : kSuites);
  SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
  // Without AUTO_RETRY, a read returns after each key update. With AUTO_RETRY, a peer that sends
  // only key updates could keep this thread from serving other connections.
  SSL_CTX_clear_mode(ssl, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_read_ahead(ssl, 1);
  SSL_CTX_set_default_read_buffer_len(ssl, kReadAhead);
  SSL_CTX_set_default_passwd_cb(ssl, no_passphrase);
  TlsCarrier::set_callbacks(ssl, side_, shared);
  if (shared) {
    auto keys = SharedKeys::read(options_.shared_keys);
    if (!keys) return keys.error();
    keys_ = std::move(*keys);
  }
  if (auto wrong = use_certificate(); !wrong.empty()) return wrong;
  return use_authorities();
}

std::string Context::use_certificate() {
  if (options_.certificate.empty()) return {};
  SSL_CTX* const ssl = ssl_.get();
  if (SSL_CTX_use_certificate_chain_file(ssl, options_.certificate.c_str()) != 1) {
    return fault_of(options_.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(ssl, options_.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(ssl) != 1) {
    return fault_of(options_.key);
  }
  return {};
}

std::string Context::use_authorities() {
  SSL_CTX* const ssl = ssl_.get();
  const bool listens = side_ == Side::kListens;
  const bool any = !options_.authorities.empty();
  if (any && SSL_CTX_load_verify_file(ssl, options_.authorities.c_str()) != 1) {
    return fault_of(options_.authorities);
  }
  if (any && listens) {
    SSL_CTX_set_client_CA_list(ssl, SSL_load_client_CA_file(options_.authorities.c_str()));
  }
  // With a shared key, no authority is loaded, so OpenSSL refuses any certificate that the peer
  // presents.
  if (!any && !listens && options_.shared_keys.empty() &&
      SSL_CTX_set_default_verify_paths(ssl) != 1) {
    return "cannot load the trusted CAs of the system: " + openssl_reason();
  }
  const int demand = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(ssl, listens && !any ? SSL_VERIFY_NONE : demand, nullptr);
  return {};
}

std::unique_ptr<net::Carrier> Context::make(net::CarrierSocket socket,
                                            const std::string& host) const {
  return TlsCarrier::make(shared_from_this(), socket, host);
}

SessionPtr Context::take_session(const std::string& host) const {
  const std::lock_guard lock(mutex_);
  const auto node = sessions_.extract(host);
  return node.empty() ? nullptr : std::move(node.mapped());
}

void Context::keep_session(const std::string& host, SessionPtr session) const {
  const std::lock_guard lock(mutex_);
  if (sessions_.size() >= kMostSessions && !sessions_.contains(host)) {
    sessions_.erase(sessions_.begin());
  }
  sessions_[host] = std::move(session);
}

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < list.size();) {
    const auto end = std::min(list.find(',', at), list.size());
    out.emplace_back(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::expected<Factory, std::string> connecting(const TlsOptions& options) {
  return make(Side::kConnects, options);
}

std::expected<Factory, std::string> listening(const TlsOptions& options) {
  return make(Side::kListens, options);
}

void stay_usable_at_exit() { OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace iwarp::tls
