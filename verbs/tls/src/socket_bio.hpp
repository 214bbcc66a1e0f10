// SPDX-License-Identifier: Apache-2.0
// SocketBio: OpenSSL's transport. Reads go from the socket into OpenSSL's own buffer. Writes are
// collected, so that a write never has to be repeated and several records are sent in one system
// call.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "iwarp/net/carrier.hpp"
#include "openssl.hpp"

namespace iwarp::tls {

class SocketBio {
 public:
  explicit SocketBio(net::CarrierSocket socket) : socket_(socket) {}
  SocketBio(const SocketBio&) = delete;
  SocketBio& operator=(const SocketBio&) = delete;

  /// Makes a BIO for SSL_set_bio(); this object has to outlive it. Returns null if there is no
  /// memory.
  BioPtr make();

  /// Collects octets as if OpenSSL had written them. Returns false if there is no memory.
  bool collect(std::span<const std::byte> octets);
  /// Sends what was collected. Returns false if some of it remains.
  bool flush();
  std::size_t collected() const { return out_.size() - sent_; }
  std::vector<std::byte> take();
  /// Returns whether the last read found the socket empty.
  bool is_dry() const { return is_dry_; }
  /// Returns whether TCP's FIN was read.
  bool has_ended() const { return ended_; }
  /// Returns the socket's errno, or 0 if it has not failed.
  int error() const { return error_; }

 private:
  static const BIO_METHOD* method();
  static int write(BIO* bio, const char* octets, std::size_t size, std::size_t* written);
  static int read(BIO* bio, char* octets, std::size_t size, std::size_t* taken);
  static long control(BIO* bio, int command, long number, void* pointer);

  net::CarrierSocket socket_;
  std::vector<std::byte> out_;
  std::size_t sent_ = 0;  ///< octets of out_ that are sent
  bool is_dry_ = true;
  bool ended_ = false;
  int error_ = 0;
};

}  // namespace iwarp::tls
