// SPDX-License-Identifier: Apache-2.0
// SocketBio: where OpenSSL reads and writes. It reads from the socket, into OpenSSL's own buffer;
// what it writes is collected, so that writing never has to be tried again and several records
// leave in one system call.
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

  /// For SSL_set_bio(); this has to outlive it. Null: no memory.
  BioPtr make();

  /// As if OpenSSL had written it. False: no memory.
  bool collect(std::span<const std::byte> octets);
  /// Sends what was collected. False: not all of it.
  bool flush();
  std::size_t collected() const { return out_.size() - sent_; }
  std::vector<std::byte> take();
  /// The last read found nothing.
  bool is_dry() const { return is_dry_; }
  /// TCP's FIN was read.
  bool has_ended() const { return ended_; }
  /// errno of the socket when it failed; 0: it did not.
  int error() const { return error_; }

 private:
  static const BIO_METHOD* method();
  static int write(BIO* bio, const char* octets, std::size_t size, std::size_t* written);
  static int read(BIO* bio, char* octets, std::size_t size, std::size_t* taken);
  static long control(BIO* bio, int command, long number, void* pointer);

  net::CarrierSocket socket_;
  std::vector<std::byte> out_;
  std::size_t sent_ = 0;  ///< of out_
  bool is_dry_ = true;
  bool ended_ = false;
  int error_ = 0;
};

}  // namespace iwarp::tls
