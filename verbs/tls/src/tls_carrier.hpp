// SPDX-License-Identifier: Apache-2.0
// TlsCarrier: the TLS of one connection. The handshake runs inside send() and receive(). So the
// driver treats it as a part of MPA's startup, with the same deadline.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "context.hpp"
#include "iwarp/net/carrier.hpp"
#include "openssl.hpp"
#include "socket_bio.hpp"

namespace iwarp::tls {

class TlsCarrier final : public net::Carrier {
  struct Private {};

 public:
  using ContextPtr = std::shared_ptr<const Context>;
  TlsCarrier(Private, ContextPtr context, net::CarrierSocket socket, std::string host)
      : context_(std::move(context)), host_(std::move(host)), socket_(socket) {}
  /// Makes the carrier of a connected socket. Returns null if memory runs out.
  static std::unique_ptr<TlsCarrier> make(ContextPtr context, net::CarrierSocket socket,
                                          const std::string& host);
  static void set_callbacks(SSL_CTX* ssl, Side side, bool shared_keys);

  ssize_t send(std::span<const iovec> plan) override;
  ssize_t receive(std::span<const iovec> plan) override;
  bool holds_output() const override { return socket_.collected() != 0; }
  bool holds_input() const override { return is_established_ && !is_drained_; }
  void close() override;
  std::vector<std::byte> take_output() override { return socket_.take(); }
  const net::CarrierFailure* failure() const override { return failure_ ? &*failure_ : nullptr; }
  std::string peer_identity() const override;

 private:
  static int verify(X509_STORE_CTX* store, void* unused);
  static int use_shared_key(SSL* ssl, const EVP_MD* digest, const unsigned char** identity,
                            std::size_t* size, SSL_SESSION** session);
  static int find_shared_key(SSL* ssl, const unsigned char* identity, std::size_t size,
                             SSL_SESSION** session);
  static int keep_session(SSL* ssl, SSL_SESSION* session);

  bool establish();
  bool has_expected_name(X509* certificate) const;
  bool send_record(std::span<const std::byte> octets);
  void fail(int result);
  bool is_no_tls() const;
  std::string reason() const;
  ssize_t fail_with_errno() const;

  const ContextPtr context_;
  const std::string host_;
  SocketBio socket_;
  SslPtr ssl_;  ///< declared after socket_, because ~SSL uses socket_
  bool is_established_ = false;
  bool is_drained_ = true;  ///< OpenSSL holds no decrypted octets for receive()
  bool is_closed_ = false;
  std::uint64_t sent_under_key_ = 0;
  std::string shared_identity_;
  std::optional<net::CarrierFailure> failure_;
};

}  // namespace iwarp::tls
