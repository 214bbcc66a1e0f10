// SPDX-License-Identifier: Apache-2.0
// TlsCarrier: OpenSSL's callbacks (certificates, shared keys, sessions), the octets in both
// directions, and the sentence that says why a handshake or a connection failed.
#include "tls_carrier.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "copy.hpp"
#include "iwarp/verbs/log_record.hpp"

namespace iwarp::tls {
namespace {

constexpr std::size_t kRecord = SSL3_RT_MAX_PLAIN_LENGTH;
// Number of octets to collect before a system call sends them.
constexpr std::size_t kBatch = 4 * kRecord;

// The code of TLS_AES_128_GCM_SHA256. A shared key needs a cipher suite with SHA-256.
constexpr std::array<unsigned char, 2> kSha256Suite{0x13, 0x01};

constexpr std::string_view kAlert = "alert ";
constexpr std::array kProtocolVersionAlert{std::byte{21}, std::byte{3}, std::byte{3}, std::byte{0},
                                           std::byte{2},  std::byte{2}, std::byte{70}};

TlsCarrier& of(const SSL* ssl) { return *static_cast<TlsCarrier*>(SSL_get_app_data(ssl)); }

SessionPtr session_for(SSL* ssl, const SharedKeys::Entry& entry) {
  SessionPtr out(SSL_SESSION_new());
  const SSL_CIPHER* const suite = SSL_CIPHER_find(ssl, kSha256Suite.data());
  if (out == nullptr || suite == nullptr) return nullptr;
  const auto* const key = reinterpret_cast<const unsigned char*>(entry.key.data());
  const bool done = SSL_SESSION_set1_master_key(out.get(), key, entry.key.size()) == 1 &&
                    SSL_SESSION_set_cipher(out.get(), suite) == 1 &&
                    SSL_SESSION_set_protocol_version(out.get(), TLS1_3_VERSION) == 1;
  return done ? std::move(out) : nullptr;
}

bool is_for(X509* certificate, const std::string& name) {
  return X509_check_ip_asc(certificate, name.c_str(), 0) == 1 ||
         X509_check_host(certificate, name.c_str(), name.size(), 0, nullptr) == 1;
}

bool is_address(const std::string& host) {
  ASN1_OCTET_STRING* const address = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(address);
  return address != nullptr;
}

std::string common_name(X509* certificate) {
  std::array<char, 256> text{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text.data(),
                            static_cast<int>(text.size()));
  return text.data();
}

}  // namespace

std::unique_ptr<TlsCarrier> TlsCarrier::make(ContextPtr context, net::CarrierSocket socket,
                                             const std::string& host) {
  auto out = std::make_unique<TlsCarrier>(Private{}, std::move(context), socket, host);
  out->ssl_ = out->context_->make_ssl();
  BioPtr bio = out->socket_.make();
  SSL* const ssl = out->ssl_.get();
  if (ssl == nullptr || bio == nullptr) return nullptr;
  BIO* const both = bio.release();
  SSL_set_bio(ssl, both, both);
  SSL_set_app_data(ssl, out.get());
  if (out->context_->side() == Side::kListens) {
    SSL_set_accept_state(ssl);
    return out;
  }
  SSL_set_connect_state(ssl);
  if (!is_address(host)) SSL_set_tlsext_host_name(ssl, host.c_str());
  if (const auto session = out->context_->take_session(host)) SSL_set_session(ssl, session.get());
  return out;
}

void TlsCarrier::set_callbacks(SSL_CTX* ssl, Side side, bool shared_keys) {
  SSL_CTX_set_cert_verify_callback(ssl, &TlsCarrier::verify, nullptr);
  if (side == Side::kConnects) {
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ssl, &TlsCarrier::keep_session);
    if (shared_keys) SSL_CTX_set_psk_use_session_callback(ssl, &TlsCarrier::use_shared_key);
    return;
  }
  // A server needs no cache: a ticket contains its session, encrypted with a key of this context.
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  constexpr std::array<unsigned char, 5> kName{'i', 'w', 'a', 'r', 'p'};
  SSL_CTX_set_session_id_context(ssl, kName.data(), kName.size());
  if (shared_keys) SSL_CTX_set_psk_find_session_callback(ssl, &TlsCarrier::find_shared_key);
}

// OpenSSL's callbacks -----------------------------------------------------------------------------

int TlsCarrier::verify(X509_STORE_CTX* store, void*) {
  if (X509_verify_cert(store) != 1) return 0;
  const auto index = SSL_get_ex_data_X509_STORE_CTX_idx();
  const auto& self = of(static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, index)));
  if (self.has_expected_name(X509_STORE_CTX_get0_cert(store))) return 1;
  X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
  return 0;
}

bool TlsCarrier::has_expected_name(X509* certificate) const {
  const auto& names = context_->options().peer_names;
  if (!names.empty()) {
    return std::ranges::any_of(names, [&](const auto& name) { return is_for(certificate, name); });
  }
  return context_->side() == Side::kListens || is_for(certificate, host_);
}

int TlsCarrier::use_shared_key(SSL* ssl, const EVP_MD*, const unsigned char** identity,
                               std::size_t* size, SSL_SESSION** session) {
  TlsCarrier& self = of(ssl);
  const auto& entry = self.context_->shared_keys().first();
  auto made = session_for(ssl, entry);
  if (made == nullptr) return 0;
  *identity = reinterpret_cast<const unsigned char*>(entry.identity.data());
  *size = entry.identity.size();
  *session = made.release();
  return 1;
}

int TlsCarrier::find_shared_key(SSL* ssl, const unsigned char* identity, std::size_t size,
                                SSL_SESSION** session) {
  TlsCarrier& self = of(ssl);
  const std::string_view name(reinterpret_cast<const char*>(identity), size);
  const auto* const entry = self.context_->shared_keys().find(name);
  *session = nullptr;
  auto found = entry != nullptr ? session_for(ssl, *entry) : nullptr;
  if (found == nullptr) return 1;  // Not an error: the identity may be a ticket.
  try {                            // This function must not throw: its caller is OpenSSL.
    self.shared_identity_ = entry->identity;
  } catch (const std::bad_alloc&) {
    return 0;
  }
  *session = found.release();
  return 1;
}

int TlsCarrier::keep_session(SSL* ssl, SSL_SESSION* session) {
  const TlsCarrier& self = of(ssl);
  if (!self.context_->shared_keys().is_empty()) return 0;
  try {  // This function must not throw: its caller is OpenSSL.
    self.context_->keep_session(self.host_, SessionPtr(session));
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    // The session is lost. The next connection does a full handshake.
  }
  return 1;
}

// Octets ------------------------------------------------------------------------------------------

bool TlsCarrier::establish() {
  if (is_established_) return true;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  is_established_ = result == 1;
  if (!is_established_) fail(result);
  // Octets that follow the handshake may have been read together with it, also in send().
  if (is_established_) is_drained_ = false;
  socket_.flush();
  return is_established_;
}

ssize_t TlsCarrier::send(std::span<const iovec> plan) {
  if (failure_) return fail_with_errno();
  if (!is_closed_ && !establish()) return failure_ ? fail_with_errno() : 0;
  if (!socket_.flush()) return fail_with_errno();
  std::size_t taken = 0;
  PlanCursor from(plan);
  while (from.left() != 0) {
    std::array<std::byte, kRecord> record;
    const auto size = from.copy_to(record);
    if (size == 0) {  // The next octets are in memory that the program has unmapped.
      if (taken != 0) break;
      errno = EFAULT;
      return -1;
    }
    if (!send_record(std::span(record).first(size))) return fail_with_errno();
    taken += size;
    if (socket_.collected() >= kBatch && !socket_.flush()) break;
  }
  socket_.flush();
  return static_cast<ssize_t>(taken);
}

bool TlsCarrier::send_record(std::span<const std::byte> octets) {
  ERR_clear_error();
  // Replace the keys of both directions, so that an end that only receives need not count octets
  // (RFC 8446 section 4.6.3).
  if (sent_under_key_ >= context_->options().rekey_after) {
    sent_under_key_ = 0;
    SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED);
  }
  std::size_t written = 0;
  const int result = SSL_write_ex(ssl_.get(), octets.data(), octets.size(), &written);
  if (result != 1) {
    fail(result);
    return false;
  }
  sent_under_key_ += written;
  return true;
}

ssize_t TlsCarrier::receive(std::span<const iovec> plan) {
  if (failure_) return fail_with_errno();
  is_drained_ = true;
  if (!establish()) return fail_with_errno();
  is_drained_ = false;
  std::size_t taken = 0;
  PlanCursor to(plan);
  while (to.left() != 0) {
    std::array<std::byte, kRecord> record;
    std::size_t size = 0;
    ERR_clear_error();
    const int result =
        SSL_read_ex(ssl_.get(), record.data(), std::min(to.left(), record.size()), &size);
    if (result != 1) {
      const int error = SSL_get_error(ssl_.get(), result);
      is_drained_ = error == SSL_ERROR_WANT_READ && socket_.is_dry();
      if (error == SSL_ERROR_ZERO_RETURN) return static_cast<ssize_t>(taken);
      fail(result);
      return taken != 0 ? static_cast<ssize_t>(taken) : fail_with_errno();
    }
    if (!to.copy_from(std::span(record).first(size))) {
      errno = EFAULT;
      return -1;
    }
    taken += size;
  }
  return static_cast<ssize_t>(taken);
}

void TlsCarrier::close() {
  if (!is_established_ || failure_ || std::exchange(is_closed_, true)) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

// Failures ----------------------------------------------------------------------------------------

// Sets errno to the error of the carrier's failure, or to EAGAIN if the carrier has not failed.
// Returns -1.
ssize_t TlsCarrier::fail_with_errno() const {
  if (socket_.error() != 0) {
    errno = socket_.error();
  } else if (!failure_) {
    errno = EAGAIN;
  } else {
    errno = failure_->cut_short ? ECONNRESET : EPROTO;
  }
  return -1;
}

void TlsCarrier::fail(int result) {
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return;
  const bool gone = socket_.has_ended() || socket_.error() != 0;
  failure_ = net::CarrierFailure{.why = reason(), .cut_short = gone};
  // OpenSSL sends no answer to a peer that does not use TLS. Send such a peer an alert (RFC 8446
  // section 6), which the peer's MPA recognises.
  if (is_no_tls()) socket_.collect(kProtocolVersionAlert);
  if (!gone) socket_.flush();  // Sends the alert that tells the peer the reason.
}

// Returns whether the peer's first octets were not a TLS record.
bool TlsCarrier::is_no_tls() const {
  const auto code = ERR_peek_last_error();
  const int number = ERR_GET_REASON(code);
  return !is_established_ && ERR_GET_LIB(code) == ERR_LIB_SSL &&
         (number == SSL_R_WRONG_VERSION_NUMBER || number == SSL_R_HTTP_REQUEST);
}

std::string TlsCarrier::reason() const {
  const auto code = ERR_peek_last_error();
  const int number = ERR_GET_REASON(code);
  const bool is_ssl = ERR_GET_LIB(code) == ERR_LIB_SSL;
  const long verdict = SSL_get_verify_result(ssl_.get());
  if (is_ssl && number == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK) {
    return std::string("this end refused the peer's certificate: ") +
           X509_verify_cert_error_string(verdict);
  }
  if (socket_.has_ended() || socket_.error() != 0) {
    return is_established_ ? "the peer closed or reset TCP without a TLS close_notify"
                           : "the peer closed or reset TCP during the TLS handshake (check that "
                             "the peer uses TLS)";
  }
  if (is_ssl && number >= SSL_AD_REASON_OFFSET) {
    // OpenSSL's text begins with the version that introduced the alert, for example "sslv3 alert
    // bad certificate". Remove this version.
    const auto text = openssl_reason();
    const auto alert = text.find(kAlert);
    return "the peer refused the TLS handshake: " +
           (alert != std::string::npos ? text.substr(alert + kAlert.size()) : text);
  }
  if (is_no_tls())
    return "this end uses TLS and the peer does not (use TLS at both ends or at neither)";
  return (is_established_ ? "TLS: " : "TLS handshake: ") + openssl_reason();
}

std::string TlsCarrier::peer_identity() const {
  if (!is_established_) return {};
  const std::string how = std::string(SSL_get_cipher_name(ssl_.get())) +
                          (SSL_session_reused(ssl_.get()) == 1 ? ", resumed" : "");
  const CertificatePtr certificate(SSL_get1_peer_certificate(ssl_.get()));
  std::string who = shared_identity_;
  if (certificate != nullptr) who = common_name(certificate.get());
  return verbs::printable(who.empty() ? how : who + " (" + how + ")");
}

}  // namespace iwarp::tls
