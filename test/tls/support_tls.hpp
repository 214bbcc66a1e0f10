// SPDX-License-Identifier: Apache-2.0
// Two ends that use TLS, and a peer that uses OpenSSL directly and sends arbitrary data through
// TLS.
#pragma once

#include <doctest/doctest.h>
#include <openssl/err.h>

#include <string>
#include <utility>

#include "certificates.hpp"
#include "iwarp/mpa/startup_frame.hpp"
#include "iwarp/tls/tls.hpp"
#include "raw_peer.hpp"
#include "socket_pair.hpp"

namespace iwarp::tls {

template <typename T>
T good(std::expected<T, std::string> made) {
  REQUIRE_MESSAGE(made.has_value(), (made ? std::string() : made.error()));
  return std::move(*made);
}

/// Certificates that one authority has issued for 127.0.0.1 and for "client".
struct Credentials {
  Authority authority{"test authority"};
  Issued server = authority.issue("127.0.0.1");
  Issued client = authority.issue("client");

  TlsOptions with(const Issued& own) const {
    return {.certificate = own.certificate, .key = own.key, .authorities = authority.file()};
  }
  TlsOptions serving() const { return with(server); }
  TlsOptions asking() const { return with(client); }
};

inline TlsOptions only_authorities(const Authority& authority) {
  return {.authorities = authority.file()};
}

inline TlsOptions only_shared_key(std::string file) { return {.shared_keys = std::move(file)}; }

inline net::ListenOptions served_by(const TlsOptions& options) {
  return {.carrier = good(listening(options))};
}

inline net::ConnectOptions asked_by(const TlsOptions& options) {
  return {.carrier = good(connecting(options))};
}

inline net::Pair pair_served_by(const net::ListenOptions& options, std::size_t size = 1 << 16) {
  return net::Pair(size, {}, {"127.0.0.1", 0}, options);
}

/// A peer whose calls block. The test itself checks whether the handshake succeeds.
class TlsPeer {
 public:
  TlsPeer(net::UniqueFd socket, bool connects, const Issued* own)
      : context_(SSL_CTX_new(connects ? TLS_client_method() : TLS_server_method())),
        socket_(std::move(socket)),
        connects_(connects) {
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_NONE, nullptr);
    if (own != nullptr) {
      REQUIRE(SSL_CTX_use_certificate_chain_file(context_.get(), own->certificate.c_str()) == 1);
      REQUIRE(SSL_CTX_use_PrivateKey_file(context_.get(), own->key.c_str(), SSL_FILETYPE_PEM) == 1);
    }
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_.get());
  }
  static net::UniqueFd connect(std::uint16_t port) {
    net::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = net::loopback(port);
    REQUIRE_EQ(::connect(socket.get(), address.get(), address.length), 0);
    return socket;
  }

  bool shake_hands() { return (connects_ ? SSL_connect(ssl_.get()) : SSL_accept(ssl_.get())) == 1; }
  void send(const std::vector<std::byte>& octets) {
    std::size_t done = 0;
    REQUIRE(SSL_write_ex(ssl_.get(), octets.data(), octets.size(), &done) == 1);
  }
  /// Requests a key update. Does not wait for the answer.
  void change_key() {
    REQUIRE(SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED) == 1);
    REQUIRE(SSL_do_handshake(ssl_.get()) == 1);
  }
  void send_request() {
    const mpa::StartupFrame frame{
        .kind = mpa::FrameKind::kRequest, .crc = true, .revision = 1, .private_data = {}};
    std::vector<std::byte> out(mpa::startup_frame_size(0));
    bytes::Writer writer{out};
    mpa::encode(frame, writer);
    send(out);
  }
  /// Receives until the other side ends the stream or an error occurs.
  std::vector<std::byte> hear_all() {
    std::vector<std::byte> out;
    std::byte some[4096];
    std::size_t n = 0;
    while (SSL_read_ex(ssl_.get(), some, sizeof some, &n) == 1)
      out.insert(out.end(), some, some + n);
    return out;
  }
  std::vector<std::byte> receive(std::size_t size) {
    std::vector<std::byte> out(size);
    for (std::size_t done = 0, n = 0; done < size; done += n) {
      REQUIRE(SSL_read_ex(ssl_.get(), out.data() + done, size - done, &n) == 1);
    }
    return out;
  }
  void close_in_order() {
    SSL_shutdown(ssl_.get());
    ::shutdown(socket_.get(), SHUT_WR);
  }
  void cut_off() { ::shutdown(socket_.get(), SHUT_WR); }

 private:
  SslContextPtr context_;
  net::UniqueFd socket_;
  const bool connects_;
  SslPtr ssl_;
};

}  // namespace iwarp::tls
