// SPDX-License-Identifier: Apache-2.0
// SocketBio: the transport that OpenSSL uses. OpenSSL reads from the socket into its own buffer.
// SocketBio collects what OpenSSL writes, so that OpenSSL never has to repeat a write, and one
// system call sends several records.
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

  /// Makes a BIO for SSL_set_bio(). This object must outlive the BIO. Returns null if memory runs
  /// out.
  BioPtr make();

  /// Adds `octets` to those that flush() sends, as if OpenSSL had written them. Returns false if
  /// memory runs out.
  bool collect(std::span<const std::byte> octets);
  /// Sends collected octets. Returns false if some of them could not be sent yet.
  bool flush();
  std::size_t collected() const { return out_.size() - sent_; }
  std::vector<std::byte> take();
  /// Returns whether the last read found the socket empty.
  bool is_dry() const { return is_dry_; }
  /// Returns whether the peer's FIN has been read.
  bool has_ended() const { return ended_; }
  /// Returns the errno of the failed call, or 0 if no call to the socket has failed.
  int error() const { return error_; }

 private:
  static const BIO_METHOD* method();
  static int write(BIO* bio, const char* octets, std::size_t size, std::size_t* written);
  static int read(BIO* bio, char* octets, std::size_t size, std::size_t* taken);
  static long control(BIO* bio, int command, long number, void* pointer);

  net::CarrierSocket socket_;
  std::vector<std::byte> out_;
  std::size_t sent_ = 0;  ///< number of octets at the beginning of out_ that have been sent
  bool is_dry_ = true;
  bool ended_ = false;
  int error_ = 0;
};

}  // namespace iwarp::tls
